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

/// The saved state of a trial: tensors and named numbers from which it resumes with the same bits.
struct TrainerState {
  /// State as of program::LaneState::extract, with those of the example selection; empty: no state yet.
  std::vector<Tensor> tensors;
  /// Numbers and lists as text, by name: "epoch", "step", "loss_sum", "measurements"; for searches "noise" and
  /// "branches".
  std::map<std::string, std::string> facts;
  /// Parameters and buffers of the selected epoch (study::SelectionRule), if they differ from those in `tensors`; else
  /// empty.
  std::vector<Tensor> kept = {};
};

/// Returns the parameters and buffers among the tensors of a state; slots, "step" and "seed" are left out.
std::vector<Tensor> weights_in(std::vector<Tensor> state);
/// Returns the tensors with the weights that predict for the trial: the weights of its selected epoch, else all tensors
/// of its state, with slots and counts. Refers to `state`.
inline const std::vector<Tensor>& selected_weights(const TrainerState& state) {
  return state.kept.empty() ? state.tensors : state.kept;
}

/// The parameters and buffers, by name, with which a trial begins instead of random values. They may also contain
/// optimiser slots.
struct StartWeights {
  std::vector<Tensor> tensors;  ///< Parameters, buffers and, if transferred, slots.
  bool is_complete = true;  ///< True: all parameters and buffers must be present; false: absent ones get random values.
  std::int64_t steps = 0;   ///< Step count of the optimiser, by which it corrects its slots; 0 without slots.
};

/// Returns the weights of another trial's state as the start of a child of the same structure; `plan` must be empty.
///
/// Nothing else of the state is used: no step count, seed, measurements, slots, data position or selected weights. To
/// resume the same trial is TrialRun::restore. Errors: kInvalidArgument (unknown plan), kDataLoss (no weights).
Result<std::shared_ptr<const StartWeights>> clone_weights(TrainerState parent, std::string_view plan);

/// Returns the start of a child of another structure, through a transfer plan. Tensors that the plan leaves open have
/// the child's own initial values of seed `trial_seed`.
///
/// `child` is the whole model. With `optimizer`, slots follow the elements of their parameters, and the parent's step
/// count is used. Errors: kDataLoss (a state that does not fit the plan, or lacks slots or step count with
/// `optimizer`), kInvalidArgument (`optimizer` with a plan that does not use each element once and unchanged,
/// zoo::first_not_one_to_one).
Result<std::shared_ptr<const StartWeights>> transfer_weights(TrainerState parent, const zoo::TransferPlan& plan,
                                                             const graph::Graph& child, const graph::OpTable& ops,
                                                             std::uint64_t trial_seed, bool optimizer = false);

}  // namespace lanista::train
