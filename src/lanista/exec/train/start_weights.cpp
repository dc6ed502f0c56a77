#include "lanista/exec/train/start_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "lanista/search/study/state_names.h"

namespace lanista::train {

std::vector<Tensor> weights_in(std::vector<Tensor> state) {
  std::erase_if(state, [](const Tensor& tensor) { return !study::is_weight(tensor); });
  return state;
}

Result<std::shared_ptr<const StartWeights>> clone_weights(TrainerState parent, std::string_view plan) {
  if (!plan.empty()) {
    return Error{Code::kInvalidArgument,
                 "a start's plan is '" + std::string(plan) + "'; it must be empty, for the same structure", ""};
  }
  StartWeights weights{weights_in(std::move(parent.tensors))};
  if (weights.tensors.empty()) return Error{Code::kDataLoss, "the state to start from has no weights", ""};
  return std::make_shared<const StartWeights>(std::move(weights));
}

namespace {

Error state_error(const std::string& what) { return {Code::kDataLoss, "the state to start from " + what, ""}; }

/// Returns the optimiser slots of a state under the names of the child.
Result<std::vector<Tensor>> transfer_slots(const std::vector<Tensor>& state, const zoo::TransferPlan& plan,
                                           const graph::Graph& child, const graph::OpTable& ops,
                                           std::uint64_t trial_seed) {
  if (const std::string other = zoo::first_not_one_to_one(plan); !other.empty()) {
    return Error{Code::kInvalidArgument,
                 "optimiser slots cannot be transferred: " + other + " does not use each element of the parent once",
                 ""};
  }
  std::map<std::string, std::vector<Tensor>> by_slot;  // with the names of their parameters
  for (const Tensor& tensor : state) {
    const auto slash = tensor.name.find('/');
    if (slash == std::string::npos || tensor.name.find(':') != std::string::npos) continue;
    Tensor slot = tensor;
    slot.name.resize(slash);
    by_slot[tensor.name.substr(slash + 1)].push_back(std::move(slot));
  }
  if (by_slot.empty()) return state_error("has no optimiser slots");
  std::vector<Tensor> out;
  for (const auto& [slot, tensors] : by_slot) {
    zoo::TransferPlan of_slot = plan;
    std::erase_if(of_slot.tensors, [&tensors](const zoo::TensorPlan& one) {
      return std::ranges::find(tensors, one.from, &Tensor::name) == tensors.end();
    });
    auto made = zoo::apply(of_slot, tensors, child, ops, trial_seed);
    if (!made) return state_error("does not fit: " + made.error().message);
    for (Tensor& tensor : *made) {
      tensor.name += "/" + slot;
      out.push_back(std::move(tensor));
    }
  }
  return out;
}

Result<std::int64_t> steps_of(const std::vector<Tensor>& state) {
  const auto steps = std::ranges::find(state, "step", &Tensor::name);
  if (steps == state.end() || steps->type != ElementType::kI64 || steps->elements() != 1) {
    return state_error("has no step count");
  }
  const std::int64_t count = elements_of<std::int64_t>(*steps)[0];
  if (count < 0) return state_error("has the step count " + std::to_string(count) + "; it must be at least 0");
  return count;
}

}  // namespace

Result<std::shared_ptr<const StartWeights>> transfer_weights(TrainerState parent, const zoo::TransferPlan& plan,
                                                             const graph::Graph& child, const graph::OpTable& ops,
                                                             std::uint64_t trial_seed, bool optimizer) {
  StartWeights out{{}, false};
  if (optimizer) {
    LANISTA_ASSIGN(out.steps, steps_of(parent.tensors));
    LANISTA_ASSIGN(out.tensors, transfer_slots(parent.tensors, plan, child, ops, trial_seed));
  }
  const std::vector<Tensor> weights = weights_in(std::move(parent.tensors));
  auto made = zoo::apply(plan, weights, child, ops, trial_seed);
  if (!made) return Error{Code::kDataLoss, "the state to start from does not fit: " + made.error().message, ""};
  std::ranges::move(*made, std::back_inserter(out.tensors));
  return std::make_shared<const StartWeights>(std::move(out));
}

}  // namespace lanista::train
