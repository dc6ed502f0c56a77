#pragma once

#include "lanista/base/result.h"
#include "lanista/pipeline/model_costs.h"
#include "lanista/step/training_step.h"

namespace lanista::cli {

/// What a model's passes take on this machine: by its speed, which is measured in well under a second, and where
/// `seconds` is above zero by its own programs at 1, 2, 4, ... samples, for about so long in all. Errors: those of
/// deriving and compiling the step.
Result<pipeline::NodeCosts> costs_here(const graph::Graph& model, const graph::OpTable& ops,
                                       const step::StepOptions& options, std::int64_t batch, double seconds);

}  // namespace lanista::cli
