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

/// The tensors and facts from which a trial resumes with the same bits.
struct TrainerState {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> facts;  ///< "epoch", "step", "loss_sum", "measurements"; more for branches
  /// Parameters and buffers of the selected epoch (study::SelectionRule), if they differ from those in `tensors`.
  std::vector<Tensor> kept = {};
};

/// Returns the parameters and buffers of a state.
std::vector<Tensor> weights_in(std::vector<Tensor> state);
/// Returns the weights that predict for the trial: those of its selected epoch, else those of its state.
inline const std::vector<Tensor>& selected_weights(const TrainerState& state) {
  return state.kept.empty() ? state.tensors : state.kept;
}

/// The parameters and buffers, by name, with which a trial begins instead of random values. On request also optimiser
/// slots and their step count.
struct StartWeights {
  std::vector<Tensor> tensors;
  bool is_complete = true;  ///< Whether all parameters and buffers must be present. Else others are random.
  std::int64_t steps = 0;   ///< Step count of the optimiser, by which it corrects its slots.
};

/// Returns the weights of another trial's state as the start of a child; `plan` must be empty (same structure).
///
/// Nothing else of the state is used: no step count, seed, measurements, slots, data position or selected weights. To
/// resume the same trial is TrialRun::restore. Errors: kInvalidArgument (unknown plan), kDataLoss (no weights).
Result<std::shared_ptr<const StartWeights>> clone_weights(TrainerState parent, std::string_view plan);

/// Returns the start of a child of another structure, through a transfer plan. Tensors that the plan leaves open have
/// the child's own initial values.
///
/// `child` is the whole model. With `optimizer`, slots follow the elements of their parameters, and the parent's step
/// count is used. That needs a plan that uses each element once and unchanged (zoo::first_not_one_to_one). Errors:
/// kDataLoss (a state that does not fit the plan).
Result<std::shared_ptr<const StartWeights>> transfer_weights(TrainerState parent, const zoo::TransferPlan& plan,
                                                             const graph::Graph& child, const graph::OpTable& ops,
                                                             std::uint64_t trial_seed, bool optimizer = false);

}  // namespace lanista::train
