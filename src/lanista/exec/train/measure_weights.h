#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/train/trainer_input.h"

namespace lanista::train {

/// Returns metrics of weights on a part of the data, names with `prefix` in front.
///
/// They equal those of LaneGroup::evaluate for a trial with these weights. The program only predicts. `tensors` may
/// contain more than the model's. Errors: kDataLoss, naming the tensor that is missing or does not fit;
/// kInvalidArgument (the model does not fit the data), kResourceExhausted, kUnimplemented.
Result<std::map<std::string, double>> measure_weights(const TrainerInput& input, std::span<const Tensor> tensors,
                                                      data::Part part, const std::string& prefix);

/// Returns the predictions for a part of the data: [rows, width], in double, numbers in the targets' original unit.
/// Errors: those of measure_weights.
Result<std::vector<double>> predict_part(const TrainerInput& input, std::span<const Tensor> tensors, data::Part part);

/// Returns the metrics of measure_weights for given predictions. Errors: kInvalidArgument (they do not fit the data).
Result<std::map<std::string, double>> measure_predictions(const TrainerInput& input,
                                                          std::span<const double> predictions, data::Part part,
                                                          const std::string& prefix);

}  // namespace lanista::train
