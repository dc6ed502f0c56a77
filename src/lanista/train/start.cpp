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

}  // namespace lanista::train
