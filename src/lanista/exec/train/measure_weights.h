#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// Metrics of weights on a part of the data, names with `prefix` in front: what LaneGroup::evaluate says of a trial
/// that stands there, without anything to train it with. `tensors` may hold more than the model's. Errors: kDataLoss
/// naming the tensor that is missing or does not fit, kInvalidArgument (the model does not fit the data),
/// kResourceExhausted, kUnimplemented.
Result<std::map<std::string, double>> measure_weights(const TrainerInput& input, std::span<const Tensor> tensors,
                                                      data::Part part, const std::string& prefix);

/// What weights predict for a part of the data: [rows, width], in double, numbers in the targets' own unit. Errors: as
/// of measure_weights.
Result<std::vector<double>> predict_part(const TrainerInput& input, std::span<const Tensor> tensors, data::Part part);

/// The same metrics as measure_weights, of predictions that lie ready. Errors: kInvalidArgument (they do not fit the
/// data).
Result<std::map<std::string, double>> measure_predictions(const TrainerInput& input,
                                                          std::span<const double> predictions, data::Part part,
                                                          const std::string& prefix);

}  // namespace lanista::train
