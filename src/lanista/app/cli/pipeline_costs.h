#pragma once

#include "lanista/base/result.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/plan/pipeline/model_costs.h"

namespace lanista::cli {

/// What a model's passes take on this machine: by its speed, which is measured in well under a second, and where
/// `seconds` is above zero by its own programs at 1, 2, 4, ... samples, for about so long in all. Errors: those of
/// deriving and compiling the step.
Result<pipeline::NodeCosts> measure_node_costs(const graph::Graph& model, const graph::OpTable& ops,
                                               const step::StepOptions& options, std::int64_t batch, double seconds);

/// Puts in a model, made of this graph, what share of a pass's time each operator takes right behind the same pass over
/// another micro-batch (pipeline::Operator::again), as measured for micro-batches of some eighth of the batch. Errors:
/// those of deriving and compiling the step; kUnimplemented where it does not come in micro-batches.
Result<void> measure_warm_cache_factors(const graph::Graph& graph, const graph::OpTable& ops,
                                        const step::StepOptions& options, pipeline::Model& model);

}  // namespace lanista::cli
