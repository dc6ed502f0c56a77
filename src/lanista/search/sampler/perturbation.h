#pragma once

#include "lanista/base/rng.h"
#include "lanista/model/space/domain.h"

namespace lanista::search {

/// Settings of the exploration of population based training (Jaderberg et al. 2017, section 4.1.2).
struct Exploration {
  double resample = 0.25;  ///< Probability that a value is sampled again.
  double up = 1.2;         ///< Factor of a number of a range, with the same probability as `down`.
  double down = 0.8;       ///< The other factor. In a list of numbers it means the previous value, and `up` the next.
};

/// Returns a value of the domain near `value`, or with the probability how.resample a new sample. `value` is in the
/// domain.
///
/// A number of a range is multiplied by a factor, clipped to the domain and rounded to its step. An integer other than
/// 0 moves by at least one step, unless it is at an end. With a quantum the result is k * quantum, which may differ in
/// the last bit from the value of the domain. In a list of numbers a neighbour in the list is taken, which
/// at an end may be the end itself. In other lists (names, flags) a value is sampled.
space::Value explored(const space::Domain& domain, const space::Value& value, const Exploration& how, const Rng& rng);
/// Returns the sample with every active parameter explored. A parameter that has become active, or has a value outside
/// its domain, is sampled. One that has become inactive is left out. Each parameter has a random stream of its own,
/// keyed by its name.
space::Sample explored(const space::SearchSpace& space, const space::Sample& sample, const Exploration& how,
                       const Rng& rng);

}  // namespace lanista::search
