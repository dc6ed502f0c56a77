#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

/// Settings of the planner.
struct PlanOptions {
  std::optional<std::int64_t> micro_batch;  ///< The only micro-batch size to try; empty: all powers of two.
  double precision = 0.01;                  ///< Relative precision of the search for the time per sample.
  double improvement = 1;                   ///< Simulations of the last improvement relative to the default; 0: none.
  bool allows_colocation = true;            ///< True: a join of branches may share the devices of one branch.
  bool split = false;                       ///< True: the best plan under split_backward of the best ones under kFkB.
};

/// A plan that was simulated.
struct Finalist {
  std::int64_t micro_batch = 0;   ///< Samples of a micro-batch.
  std::size_t stages = 0;         ///< Number of stages.
  std::size_t depth = 0;          ///< Stages on the longest path.
  double seconds_per_sample = 0;  ///< Time of the slowest stage for a sample.
  double seconds = 0;             ///< Simulated seconds of a step under kFkB.
};

/// The result of the planner.
struct Planned {
  PipelinePlan plan;                ///< The plan.
  Schedule schedule;                ///< kFkB, or split_backward.
  double seconds = 0;               ///< Simulated seconds of a step.
  double loss = 1;                  ///< Critical path of the series-parallel tree relative to that of the model.
  std::int64_t probes = 0;          ///< Number of times per sample that were tried.
  std::int64_t states = 0;          ///< Values of the dynamic programme that were computed.
  std::int64_t num_cached = 0;      ///< Values that were known from earlier probes.
  std::int64_t simulations = 0;     ///< Number of simulated plans.
  std::vector<Finalist> finalists;  ///< Simulated plans, the best first.
};

/// Cuts a model into stages (GraphPipe, ASPLOS'25, section 5).
///
/// Micro-batch sizes are powers of two that divide the batch. For each size, bisection finds the least time per sample
/// for which a dynamic programme (ParetoSearch) finds stages within memory. The programme runs over the series-parallel
/// tree, and over its operators as a chain. The stages are simulated, and the best few are improved by local changes.
/// The same problem gives the same plan. Errors: those of check(Problem); kResourceExhausted with the least that is
/// missing if nothing fits.
Result<Planned> make_plan(const Problem& problem, const PlanOptions& options = {});

}  // namespace lanista::pipeline
