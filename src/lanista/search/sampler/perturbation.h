#pragma once

#include "lanista/base/rng.h"
#include "lanista/model/space/domain.h"

namespace lanista::strategy {

/// How population based training looks around a setting that did well (Jaderberg et al. 2017, section 4.1.2).
struct Exploration {
  double resample = 0.25;       ///< the chance that a value is drawn anew instead
  double up = 1.2, down = 0.8;  ///< factors, of equal chance
};

/// The value beside `value`, which lies in the domain, or a new one of the domain. A number is multiplied, clipped to
/// the domain and rounded to what the domain has; a whole number moves at least to the next one. A list of numbers has
/// its neighbour, at an end the end itself; of other lists (names, flags) a value is drawn.
space::Value explored(const space::Domain& domain, const space::Value& value, const Exploration& how, const Rng& rng);
/// Of every parameter of the sample that is active next to those before it; one that has become active is drawn. Each
/// parameter has a stream of its own, keyed by its name.
space::Sample explored(const space::SearchSpace& space, const space::Sample& sample, const Exploration& how,
                       const Rng& rng);

}  // namespace lanista::strategy
