#pragma once

#include "lanista/plan/pipeline/plan.h"

namespace lanista::pipeline {

// Planners of other systems, as baselines under the synchronous 1F1B schedule.
//
// Both give a chain of stages. It runs as the better of two: each stage waits for the previous one, as in their
// runtimes, or only for the stages that it reads. They support one class of devices.

/// The result of a baseline planner.
struct Baseline {
  PipelinePlan plan;         ///< The best plan.
  double seconds = 0;        ///< Simulated seconds of a step.
  PipelinePlan chain;        ///< The best plan in which every stage waits for the previous one; empty if none fits.
  double chain_seconds = 0;  ///< Simulated seconds of its step; infinite if none fits.
  std::size_t num_sets = 0;  ///< Prefixes or downsets for one micro-batch size, with the empty one.
};

/// Most prefixes or downsets of a baseline.
inline constexpr std::size_t kMaxSets = 40'000;

/// Plans as PipeDream (SOSP'19).
///
/// Each antichain stands for a prefix of the model. The plan is the chain of nested prefixes, with numbers of devices,
/// that has the fastest slowest stage, with its gradient sum. Memory counts the micro-batches in flight. It tries every
/// power of two that divides the batch, or `micro_batch` alone, and simulates the results. With more than kMaxSets
/// prefixes it uses those of one depth-first order only (see num_sets). It has one level of machines. O(prefixes^2
/// devices^2).
/// Errors: kUnimplemented for several classes of devices; kResourceExhausted if nothing fits.
Result<Baseline> pipedream(const Problem& problem, std::int64_t micro_batch = 0);

/// Plans as Piper (NeurIPS'21) without tensor parallelism and recomputation. Stages are differences of nested downsets.
///
/// Micro-batches are as for pipedream. Errors: as for pipedream, and kResourceExhausted for more than kMaxSets
/// downsets, where the released program gives up.
Result<Baseline> piper(const Problem& problem, std::int64_t micro_batch = 0);

/// Returns the problem with the model as a chain, in the order of PipeDream's depth-first order.
Problem as_chain_problem(const Problem& problem);
/// Plans on the chain of as_chain_problem, and runs the plan on the model. Errors: those of the planner.
Result<Baseline> plan_on_chain(const Problem& problem, Result<Baseline> (*planner)(const Problem&, std::int64_t));

/// A stage of a chain.
struct ChainPart {
  std::vector<std::uint32_t> operators;  ///< Its operators.
  std::int64_t devices = 1;              ///< Number of its devices.
};
/// Returns the plan of a chain of stages in order.
Result<PipelinePlan> chain_plan(const std::vector<ChainPart>& parts, std::int64_t micro_batch, const Problem& problem);

}  // namespace lanista::pipeline
