#pragma once

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

/// What others' planners give, from their definitions (graphpipe.md 6), made into plans of ours under the synchronous
/// 1F1B schedule. Both make a chain of stages. They run as the better of two: each stage waits for the one before, as
/// in their own runtimes, or only for those it reads. They know one class of devices and one memory size.

struct Baseline {
  PipelinePlan plan;
  double seconds = 0;        ///< a step, simulated
  PipelinePlan chain;        ///< the best plan where every stage waits for the one before; no stages if none fits
  double chain_seconds = 0;  ///< its step; infinity if none fits
  std::size_t num_sets = 0;  ///< prefixes or downsets, of one micro-batch size, the empty one included
};

inline constexpr std::size_t kMaxSets = 40'000;

/// PipeDream (SOSP'19): the DAG of augmented antichains in topological order, each standing for the prefix that it and
/// all before it are, then the least time of the slowest stage over all chains of prefixes that contain one another and
/// all numbers of devices a stage, with its sum of gradients; memory by the number of micro-batches in flight. For
/// every power of two that divides the batch, or `micro_batch` alone; the best of them by simulation. Where there are
/// more than kMaxSets prefixes, only those of one way through the DAG, depth first (num_sets tells). Of its
/// hierarchy of machines it knows one level. O(prefixes^2 devices^2). Errors: kUnimplemented for several classes of
/// devices; kResourceExhausted where nothing fits.
Result<Baseline> pipedream(const Problem& problem, std::int64_t micro_batch = 0);

/// Piper (NeurIPS'21) without tensor parallelism and recomputation: stages are differences of nested downsets. The same
/// choice of micro-batches. Errors: as above, and kResourceExhausted naming the limit where there are more than
/// kMaxSets, as the released program gives up there.
Result<Baseline> piper(const Problem& problem, std::int64_t micro_batch = 0);

/// The model as tools hand it on: a chain in the order of PipeDream's one way through its antichains.
Problem as_chain_problem(const Problem& problem);
/// What a planner makes of that chain, run on the model as it is. Errors: as the planner.
Result<Baseline> plan_on_chain(const Problem& problem, Result<Baseline> (*planner)(const Problem&, std::int64_t));

/// A chain as both make it: operators of every stage and its devices, in order.
struct ChainPart {
  std::vector<std::uint32_t> operators;
  std::int64_t devices = 1;
};
Result<PipelinePlan> chain_plan(const std::vector<ChainPart>& parts, std::int64_t micro_batch, const Problem& problem);

}  // namespace lanista::pipeline
