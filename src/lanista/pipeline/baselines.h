#pragma once

#include "lanista/pipeline/plan.h"

namespace lanista::pipeline {

/// What others' planners give, from their definitions (graphpipe.md 6), made into plans of ours: a chain of stages
/// under the synchronous 1F1B schedule, each waiting for the one before. They know one class of devices and one memory
/// size.

struct Baseline {
  Plan plan;
  double seconds = 0;              ///< a step, simulated
  std::size_t sets_looked_at = 0;  ///< antichains or downsets, of one micro-batch size
};

/// PipeDream (SOSP'19): the model in a row of antichains, then the least time of the slowest stage over all cuts and
/// all numbers of devices a stage, with its sum of gradients; memory by the number of micro-batches in flight. For
/// every power of two that divides the batch, or `micro_batch` alone; the best of them by simulation. Errors:
/// kUnimplemented for several classes of devices; kResourceExhausted where nothing fits.
Result<Baseline> pipedream(const Problem& problem, std::int64_t micro_batch = 0);

inline constexpr std::size_t kMostDownsets = 40'000;

/// Piper (NeurIPS'21) without tensor parallelism and recomputation: stages are differences of nested downsets. The same
/// choice of micro-batches. Errors: as above, and kResourceExhausted naming the limit where there are more than
/// kMostDownsets, as the released program gives up there.
Result<Baseline> piper(const Problem& problem, std::int64_t micro_batch = 0);

/// A chain as both make it: operators of every stage and its devices, in order.
struct ChainPart {
  std::vector<std::uint32_t> operators;
  std::int64_t devices = 1;
};
Result<Plan> chain_plan(const std::vector<ChainPart>& parts, std::int64_t micro_batch, const Problem& problem);

}  // namespace lanista::pipeline
