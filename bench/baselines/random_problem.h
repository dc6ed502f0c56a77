#pragma once

#include "lanista/base/rng.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// Adds the edges of a random series-parallel graph over the operators from `next` on, and moves `next` behind them.
///
/// Its source is the first operator, and its sink the last one.
void random_series_parallel(Rng& rng, int depth, std::uint32_t& next,
                            std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);
/// Returns a problem on such a graph. Times grow more slowly than samples.
Problem random_problem(Rng rng, std::size_t max_operators, std::int64_t devices, std::int64_t batch);

}  // namespace lanista::pipeline
