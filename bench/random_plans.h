#pragma once

#include <vector>

#include "lanista/base/rng.h"
#include "lanista/plan/pipeline/plan.h"

namespace lanista::bench {

/// A random plan of `stages` stages.
///
/// Stages are consecutive parts of a random topological order of the operators, so the stage graph has no cycle. The
/// micro-batch size of each stage is sampled from `micro_batches`. Stage i has rank i mod `num_ranks`. The problem must
/// have at least as many operators as stages.
pipeline::PipelinePlan random_stage_plan(Rng& rng, const pipeline::Problem& problem, std::size_t stages,
                                         const std::vector<std::int64_t>& micro_batches, std::int64_t num_ranks);

}  // namespace lanista::bench
