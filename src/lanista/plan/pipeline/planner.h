#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanista/plan/pipeline/schedule.h"

namespace lanista::pipeline {

struct PlanOptions {
  std::optional<std::int64_t> micro_batch;  ///< this one only
  double precision = 0.01;                  ///< of the search for the time per sample
  double improvement = 1;                   ///< times the usual number of trials of the last improvement; 0: none
  bool allows_colocation = true;            ///< what waits for several branches may be on the devices of one of them
  bool split = false;                       ///< the best under split_backward of what is good under kFkB
};

/// A plan that was simulated.
struct Finalist {
  std::int64_t micro_batch = 0;
  std::size_t stages = 0, depth = 0;
  double seconds_per_sample = 0;  ///< of the slowest stage
  double seconds = 0;             ///< a step, simulated (under kFkB)
};

struct Planned {
  PipelinePlan plan;
  Schedule schedule;                        ///< kFkB, or split_backward
  double seconds = 0;                       ///< a step of it, simulated
  double loss = 1;                          ///< critical path of the decomposition over the model's
  std::int64_t probes = 0;                  ///< questions whether a time per sample can be met
  std::int64_t states = 0, num_cached = 0;  ///< that were worked out, and that were known from earlier probes
  std::int64_t simulations = 0;
  std::vector<Finalist> finalists;  ///< the best first
};

/// Cuts a model into stages (GraphPipe, ASPLOS'25, section 5; graphpipe.md 3). For every micro-batch size, a power of
/// two that divides the batch, it looks by bisection for the least time per sample for which a dynamic programme over
/// the series-parallel tree, and one over its operators in a row, finds stages that meet it and fit into memory; the
/// programme keeps for each part the least devices of each class and samples in flight. What it found is simulated,
/// and the best few are improved by moving operators and devices between stages as long as the simulated step gets
/// shorter. The same problem gives the same plan. Errors: those of check(Problem); kResourceExhausted where nothing
/// fits, naming the least that is missing.
Result<Planned> make_plan(const Problem& problem, const PlanOptions& options = {});

}  // namespace lanista::pipeline
