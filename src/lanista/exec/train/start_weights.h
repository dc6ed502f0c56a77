#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/model/transfer/transfer.h"

namespace lanista::train {

/// Tensors and facts from which a trial goes on exactly where it stood.
struct TrainerState {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> facts;  ///< "epoch", "step", "loss_sum", "measurements"; of a branch also its own
  /// Parameters and buffers that the trial stands for (study::SelectionRule), where those are not the ones in `tensors`.
  std::vector<Tensor> kept = {};
};

/// The parameters and buffers of a state.
std::vector<Tensor> weights_in(std::vector<Tensor> state);
/// What predicts for the trial: the weights that it stands for, else those of its state.
inline const std::vector<Tensor>& selected_weights(const TrainerState& state) {
  return state.kept.empty() ? state.tensors : state.kept;
}

/// What a trial begins with in place of random values: parameters and buffers by name. Nothing else of whoever had them
/// before comes along, unless slots of the optimiser were asked for, and its steps with them.
struct StartWeights {
  std::vector<Tensor> tensors;
  bool is_complete = true;  ///< every parameter and buffer is to be among them; the others are random values
  std::int64_t steps = 0;  ///< that the optimiser counts as done, by which it corrects its slots
};

/// What a child takes of the state that another trial left: the weights, as the plan says. No step, no seed, no
/// measurement, no optimiser slot, no place in the data, nothing that the parent kept of an earlier epoch: the child
/// begins. To go on with the state of the same trial is another thing, TrialRun::restore. Errors: kInvalidArgument (no
/// such plan), kDataLoss (a state without weights).
Result<std::shared_ptr<const StartWeights>> clone_weights(TrainerState parent, std::string_view plan);

/// The same of a parent of another structure, through a plan: what it leaves open are the child's own initial values.
/// `child` is the whole model. With `optimizer`, slots go where their parameters' elements go, under a plan that takes
/// each as it is and once (zoo::first_not_one_to_one), and the parent's steps come along. Errors: kDataLoss (a state
/// that is not what the plan was made for).
Result<std::shared_ptr<const StartWeights>> transfer_weights(TrainerState parent, const zoo::TransferPlan& plan,
                                                             const graph::Graph& child, const graph::OpTable& ops,
                                                             std::uint64_t trial_seed, bool optimizer = false);

}  // namespace lanista::train
