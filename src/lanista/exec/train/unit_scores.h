#pragma once

#include <map>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/trial_run.h"

namespace lanista::train {

/// Batches that the loss is asked on.
inline constexpr std::int64_t kScoreBatches = 8;

/// How much the training loss would miss the channels of the input's model with these weights: the mean of the absolute
/// zoo::unit_importance over the first kScoreBatches batches of the trial's data order (all there are, if those are
/// fewer), in training form, without weight decay. What TransferOptions::scores takes. A function of model, weights,
/// recipe, seeds and rows. `weights` may hold more than the model's. Errors: kDataLoss (the weights do not fit),
/// kInvalidArgument (the model does not fit the data), kResourceExhausted, kUnimplemented.
Result<std::map<graph::NodeId, std::vector<double>>> score_units(const TrainerInput& input,
                                                                 std::span<const Tensor> weights);

}  // namespace lanista::train
