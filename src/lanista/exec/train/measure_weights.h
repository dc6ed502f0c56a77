#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "lanista/exec/train/trainer_input.h"

namespace lanista::train {

/// Returns the loss and the metrics of stored weights on a part of the data by name, with `prefix` in front.
///
/// They equal those of LaneGroup::evaluate for a trial with these weights. `tensors` must contain all parameters and
/// buffers of the model, and may contain more. Errors: kDataLoss, naming the tensor that is missing or does not fit;
/// kInvalidArgument (model or metrics do not fit the data), kResourceExhausted, kUnimplemented.
Result<std::map<std::string, double>> measure_weights(const TrainerInput& input, std::span<const Tensor> tensors,
                                                      data::Part part, const std::string& prefix);

/// Returns the predictions of stored weights for a part of the data, in the order of its rows: DataSpec::outputs()
/// doubles a row. Numbers are in the original unit of the targets. Errors: kDataLoss (a tensor is missing or does not
/// fit), kInvalidArgument (the model does not fit the data), kResourceExhausted, kUnimplemented.
Result<std::vector<double>> predict_part(const TrainerInput& input, std::span<const Tensor> tensors, data::Part part);

/// Returns the loss and the metrics of given predictions by name, with `prefix` in front. They have the order and unit
/// of predict_part. Errors: kInvalidArgument (their number, the loss or a metric does not fit the data).
Result<std::map<std::string, double>> measure_predictions(const TrainerInput& input,
                                                          std::span<const double> predictions, data::Part part,
                                                          const std::string& prefix);

}  // namespace lanista::train
