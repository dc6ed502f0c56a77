#pragma once

#include <cstddef>
#include <vector>

#include "lanista/search/sampler/history.h"

namespace lanista::strategy {

enum class Gamma { kLinear, kSqrt };

/// How many of n trials are the good ones: min(ceil(n / 10), 25), or min(ceil(sqrt(n) / 4), 25).
std::size_t good_count(Gamma gamma, std::size_t n);

/// Indices of the `count` best trials by rank at equal fidelity (history.h), feasible ones first at each; then those
/// without a usable number. With several goals by fronts; the front that does not fit as a whole gives those that add
/// most to the hypervolume, one after the other. Ties go to the earlier trial.
std::vector<std::size_t> best_trials(const std::vector<Observation>& trials, std::size_t count);

/// Volume that `points` dominate below `reference`; smaller is better in every coordinate. For the last front of a few
/// dozen points: exponential in the number of coordinates.
double hypervolume(std::vector<std::vector<double>> points, const std::vector<double>& reference);

}  // namespace lanista::strategy
