#pragma once

#include <map>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trainer_input.h"

namespace lanista::train {

/// Most batches over which the scores of units are averaged.
inline constexpr std::int64_t kScoreBatches = 8;

/// Returns a score for each unit (channel or feature) of the model by node: an estimate of how much the training loss
/// changes without it.
///
/// The score is the mean of |zoo::unit_importance| over the first kScoreBatches whole batches of the trial's data
/// order, or all of them if there are fewer. It is computed in training form, without augmentation and weight decay.
/// TransferOptions::scores uses it. It depends on model, weights, recipe, seeds and rows. `weights` must contain all
/// parameters and buffers, and may contain more. Errors: kDataLoss (the weights are missing or do not fit),
/// kInvalidArgument (the model does not fit the data), kResourceExhausted, kUnimplemented.
Result<std::map<graph::NodeId, std::vector<double>>> score_units(const TrainerInput& input,
                                                                 std::span<const Tensor> weights);

}  // namespace lanista::train
