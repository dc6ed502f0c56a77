#pragma once

#include <array>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::strategy {

/// How differential evolution makes a point of others (Storn and Price, 1997).
struct DifferentialStep {
  double scale = 0.5;      ///< of the difference that is added: F
  double crossover = 0.5;  ///< probability of each coordinate to be the mutant's: CR
};

/// rand/1/bin in the unit cube: the mutant is parents[0] + scale (parents[1] - parents[2]); each coordinate is the
/// mutant's with probability `crossover`, one of them for sure, else the target's. What leaves the cube is drawn anew,
/// uniformly. All points have as many coordinates, at least one.
std::vector<double> offspring(const std::vector<double>& target,
                              const std::array<const std::vector<double>*, 3>& parents, const DifferentialStep& step,
                              const Rng& rng);

}  // namespace lanista::strategy
