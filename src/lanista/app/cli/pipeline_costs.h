#pragma once

#include "lanista/base/result.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/plan/pipeline/model_costs.h"

namespace lanista::cli {

/// Returns the costs that give the times of the passes of a model's nodes on this machine. They always have the
/// machine's speed, which is measured in under a second. If `seconds` is positive, they also have a table of measured
/// times in microseconds: programs with 1, 2, 4, ... samples, up to 64 and `batch`, run for about this time. `batch` is
/// the samples of a step. Errors: those of deriving and compiling the step.
Result<plan::Costs> measure_node_costs(const graph::Graph& model, const graph::OpTable& ops,
                                       const autodiff::StepOptions& options, std::int64_t batch, double seconds);

/// Measures the warm cache factor of each operator on this CPU, in a few steps with synthetic data. Stores it in the
/// planner's `model`, which must come from `graph`. The factor is the share of a pass's time that it needs right after
/// the same pass over another micro-batch. Micro-batches have about an eighth of the batch. Errors: those of deriving
/// and compiling the step; kUnimplemented (the batch cannot be divided into 2 to 16 equal micro-batches).
Result<void> measure_warm_cache_factors(const graph::Graph& graph, const graph::OpTable& ops,
                                        const autodiff::StepOptions& options, pipeline::Model& model);

}  // namespace lanista::cli
