#pragma once

#include <map>
#include <span>
#include <string>

#include "lanista/train/trial_run.h"

namespace lanista::train {

/// Metrics of weights on a part of the data, names with `prefix` in front: what LaneGroup::evaluate says of a trial
/// that stands there, without anything to train it with. `tensors` may hold more than the model's. Errors: kDataLoss
/// naming the tensor that is missing or does not fit, kInvalidArgument (the model does not fit the data),
/// kResourceExhausted, kUnimplemented.
Result<std::map<std::string, double>> measure_weights(const TrainerInput& input, std::span<const Tensor> tensors,
                                                      data::Part part, const std::string& prefix);

}  // namespace lanista::train
