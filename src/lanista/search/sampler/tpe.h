#pragma once

#include <cstddef>
#include <vector>

#include "lanista/search/sampler/history.h"

namespace lanista::search {

/// How the number of good trials grows with the number n of trials.
enum class Gamma {
  kLinear,  ///< min(ceil(n / 10), 25).
  kSqrt,    ///< min(ceil(sqrt(n) / 4), 25), as in hyperopt.
};

/// Returns how many of n trials count as good ones, by the formula of `gamma`.
std::size_t good_count(Gamma gamma, std::size_t n);

/// Returns the indices in `trials` of the `count` best ones, the best first, by rank at equal fidelity (history.h). At
/// one epoch feasible ones come first. It returns all indices if there are fewer.
///
/// Trials without losses, or with a loss of NaN or plus infinity, come last. With several goals the order is by fronts.
/// From a front that does not fit as a whole, the trials with the largest gain of hypervolume are taken one after the
/// other. Ties go to the earlier trial.
std::vector<std::size_t> best_trials(const std::vector<Observation>& trials, std::size_t count);

/// Returns the volume of the region that `points` dominate, bounded by `reference`; smaller coordinates are better.
///
/// Points that are not below the reference in each coordinate add nothing. Needs one coordinate or more.
/// It is meant for a few dozen points, because the time is exponential in the number of coordinates.
double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference);

}  // namespace lanista::search
