#pragma once

#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/pipeline/plan.h"

namespace lanista::bench {

/// A plan of so many stages, each a run of a random order in which every operator stands behind those that it reads, so
/// that no circle can arise; sizes of micro-batches are drawn stage by stage, places are taken in turn. Requires at
/// least as many operators as stages.
pipeline::PipelinePlan random_stage_plan(Rng& rng, const pipeline::Problem& problem, std::size_t stages,
                                         const std::vector<std::int64_t>& micro_batches, std::int64_t num_ranks);

}  // namespace lanista::bench
