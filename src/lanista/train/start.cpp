#include "lanista/train/start.h"

#include <utility>

#include "lanista/study/state_names.h"

namespace lanista::train {

std::vector<Tensor> weights_in(std::vector<Tensor> state) {
  std::erase_if(state, [](const Tensor& tensor) { return !study::is_weight(tensor); });
  return state;
}

Result<std::shared_ptr<const StartWeights>> clone_weights(TrainerState parent, std::string_view plan) {
  if (!plan.empty()) {
    return Error{
        Code::kInvalidArgument,
        "a start's plan is '" + std::string(plan) + "'; the only plan so far is the empty one, the same structure", ""};
  }
  StartWeights weights{weights_in(std::move(parent.tensors))};
  if (weights.tensors.empty()) return Error{Code::kDataLoss, "the state to start from has no weights", ""};
  return std::make_shared<const StartWeights>(std::move(weights));
}

Result<std::shared_ptr<const StartWeights>> transfer_weights(TrainerState parent, const zoo::TransferPlan& plan,
                                                             const graph::Graph& child, const graph::OpTable& ops,
                                                             std::uint64_t trial_seed) {
  const std::vector<Tensor> weights = weights_in(std::move(parent.tensors));
  auto made = zoo::apply(plan, weights, child, ops, trial_seed);
  if (!made) return Error{Code::kDataLoss, "the state to start from does not fit: " + made.error().message, ""};
  return std::make_shared<const StartWeights>(StartWeights{*std::move(made), false});
}

}  // namespace lanista::train
