#include "lanista/exec/train/trial_state.h"

#include <algorithm>
#include <utility>

#include "lanista/model/graph/flat_graph.h"
#include "lanista/search/study/state_names.h"

namespace lanista::train {
namespace {

// Returns the lane attributes in the order of `wanted`. Random values of composed operators are part of the key.
std::vector<double> lane_attr_values(const TrainerInput& input, std::span<const program::LaneAttr> wanted) {
  std::vector<double> numbers;
  for (const program::LaneAttr& number : wanted) {
    const graph::Node& node = input.model.node(number.node);
    const graph::OpDef* def = input.step_ops->find(node.op);
    const auto spec = std::ranges::find(def->attrs, number.attr, &graph::AttrSpec::name);
    const bool own = spec != def->attrs.end() && spec->per_lane;
    numbers.push_back(own ? graph::OpArgs{{}, node.attrs, *def}.real(number.attr) : number.value);
  }
  return numbers;
}

// Returns the ranges of parameters with a learning-rate factor of their own (train.rates).
std::vector<program::LrRange> lr_ranges(const study::Recipe& recipe, const program::StateLayout& layout) {
  std::vector<program::LrRange> out;
  for (const program::StateTensorLayout& item : layout.items) {
    const auto node = study::node_of(item.tensor.name);
    const auto found = node && item.tensor.trained ? recipe.rates.find(*node) : recipe.rates.end();
    if (found == recipe.rates.end()) continue;
    const program::Range& range = item.range;
    if (!out.empty() && out.back().begin + out.back().count == range.begin && out.back().factor == found->second) {
      out.back().count += range.count;
    } else {
      out.push_back({range.begin, range.count, found->second});
    }
  }
  return out;
}

Result<void> apply_start_weights(const StartWeights& start, program::LaneState& fresh) {
  if (auto assigned = fresh.assign(start.tensors); !assigned) {
    return Error{assigned.error().code, "the start does not fit: " + assigned.error().message, ""};
  }
  if (start.steps > 0) fresh.set_step_count(start.steps);
  if (!start.is_complete) return {};
  for (const program::StateTensorLayout& item : fresh.state_format().layout().items) {
    if (std::ranges::find(start.tensors, item.tensor.name, &Tensor::name) != start.tensors.end()) continue;
    return Error{Code::kInvalidArgument, "the start has no tensor '" + item.tensor.name + "'", ""};
  }
  return {};
}

}  // namespace

Result<void> TrialState::admit(const program::Program& program, const TrainerInput& input, const StartWeights* start) {
  lane_values_ = {lane_attr_values(input, program.lane_attrs()),
                  lr_ranges(input.recipe, program.state_format().layout())};
  if (state_) return best_epoch_.reserve_memory(program.state_format(), input.budget);
  LANISTA_ASSIGN(program::LaneState fresh, program.make_state(input.trial_seed));
  if (restored_) {
    if (auto inserted = fresh.insert(restored_->tensors); !inserted) {
      return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
    }
  } else if (start != nullptr) {
    LANISTA_TRY(apply_start_weights(*start, fresh));
  }
  LANISTA_TRY(best_epoch_.reserve_memory(program.state_format(), input.budget));
  restored_.reset();
  state_ = RunState(std::move(fresh));
  return {};
}

Result<void> TrialState::copy_to(TrialState& other, std::uint64_t trial_seed) const {
  LANISTA_ASSIGN(other.state_, state_.clone(trial_seed));
  other.lane_values_ = lane_values_;
  return {};
}

TrainerState TrialState::save(std::map<std::string, std::string> facts, std::int64_t steps) const {
  std::vector<Tensor> kept = best_epoch_.weights_to_save(steps);
  if (restored_) return {restored_->tensors, restored_->facts, std::move(kept)};
  return {state_ ? state_.extract() : std::vector<Tensor>(), std::move(facts), std::move(kept)};
}

Result<void> TrialState::restore(TrainerState state, std::int64_t steps,
                                 std::span<const study::Measurement> measurements) {
  LANISTA_ASSIGN(BestEpochWeights::RestoredWeights kept, best_epoch_.find(measurements, steps, state));
  const bool is_copy = kept.step >= 0 && kept.step != steps;
  if (state_ && is_copy) LANISTA_TRY(check_weights(kept.weights, state_.on_host().state_format()));
  if (!state_) {
    restored_.reset();
    state.kept.clear();
    if (!state.tensors.empty()) restored_ = std::move(state);
  } else if (auto inserted = state_.on_host().insert(state.tensors); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }
  best_epoch_.restore(std::move(kept), measurements);
  return {};
}

void TrialState::release() {
  state_.drop();
  restored_.reset();
  best_epoch_.release();
}

}  // namespace lanista::train
