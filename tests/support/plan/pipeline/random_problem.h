#pragma once

#include "lanista/base/rng.h"
#include "lanista/plan/pipeline/model.h"

namespace lanista::pipeline {

/// Edges of a random series-parallel graph over operators first, first + 1, ...; its source is `first`, its sink the
/// last; next free number in `next`.
void random_series_parallel(Rng& rng, int depth, std::uint32_t& next,
                            std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);
/// A problem on such a graph, with times that grow less than their samples do.
Problem random_problem(Rng rng, std::size_t max_operators, std::int64_t devices, std::int64_t batch);

}  // namespace lanista::pipeline
