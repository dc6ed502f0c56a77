#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Settings of the planner.
struct PlanOptions {
  std::optional<std::int64_t> micro_batch;  ///< The only micro-batch size to try, in samples; empty: many sizes.
  double precision = 0.01;                  ///< Relative precision of the search for the time per sample.
  double improvement = 1;                   ///< Factor of the number of simulations for local changes; 0: none.
  bool allows_colocation = true;            ///< True: a join of branches may share the devices of one branch.
  bool split = false;                       ///< True: also tries split_backward on the best plans.
};

/// Summary of a plan that was simulated.
struct Finalist {
  std::int64_t micro_batch = 0;   ///< Samples of a micro-batch.
  std::size_t stages = 0;         ///< Number of stages.
  std::size_t depth = 0;          ///< Number of stages on the longest path.
  double seconds_per_sample = 0;  ///< Seconds of the slowest stage for each sample.
  double seconds = 0;             ///< Simulated seconds of a step under kFkB.
};

/// The result of the planner.
struct Planned {
  PipelinePlan plan;                ///< The plan.
  Schedule schedule;                ///< kFkB, or split_backward if that is faster.
  double seconds = 0;               ///< Simulated seconds of a step.
  double loss = 1;                  ///< Longest path of the series-parallel tree over that of the model; at least 1.
  std::int64_t probes = 0;          ///< Number of times per sample that were tried.
  std::int64_t states = 0;          ///< Number of tree parts that the dynamic programme solved.
  std::int64_t num_cached = 0;      ///< Number of tree parts with a result that was known already.
  std::int64_t simulations = 0;     ///< Number of simulated plans.
  std::vector<Finalist> finalists;  ///< At most 12 simulated plans, the fastest first.
};

/// Cuts a model into stages (GraphPipe, ASPLOS'25, section 5).
///
/// Micro-batch sizes are powers of two that divide the batch. For each size, bisection finds the least time per sample
/// for which a dynamic programme (ParetoSearch) finds stages within memory. The programme runs over the series-parallel
/// tree, and over its operators as a chain. The stages are simulated, and the best few are improved by local changes.
/// The same problem gives the same plan. Errors: kInvalidArgument for a problem that check refuses, and for a
/// micro-batch that does not divide the batch. If nothing fits: kResourceExhausted with the megabytes that are needed
/// and those that exist.
Result<Planned> make_plan(const Problem& problem, const PlanOptions& options = {});

}  // namespace lanista::pipeline
