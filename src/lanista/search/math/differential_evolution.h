#pragma once

#include <array>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::search {

/// Settings of one step of differential evolution (Storn and Price, 1997).
struct DifferentialStep {
  double scale = 0.5;      ///< Factor F of the difference that is added.
  double crossover = 0.5;  ///< Probability CR that a coordinate comes from the mutant.
};

/// Returns the child of `target` and three parents in the unit cube, by the scheme rand/1/bin.
///
/// The mutant is parents[0] + scale (parents[1] - parents[2]). A coordinate comes from the mutant with probability
/// `crossover`, and one coordinate always does. The others come from `target`. A coordinate outside of the cube is
/// replaced by a uniform sample. All points have the same number of coordinates, at least one.
std::vector<double> offspring(const std::vector<double>& target,
                              const std::array<const std::vector<double>*, 3>& parents, const DifferentialStep& step,
                              const Rng& rng);

}  // namespace lanista::search
