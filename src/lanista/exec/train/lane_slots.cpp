#include "lanista/exec/train/lane_slots.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::train {

void set_state_seed(std::vector<Tensor>& state, std::uint64_t trial_seed) {
  for (Tensor& tensor : state) {
    if (tensor.name == "seed") elements_of<std::int64_t>(tensor)[0] = static_cast<std::int64_t>(trial_seed);
  }
}

RunState::RunState(RunState&& other) noexcept
    : host_state_(std::move(other.host_state_)),
      exists_(std::exchange(other.exists_, false)),
      slots_(std::exchange(other.slots_, nullptr)),
      lane_(std::exchange(other.lane_, -1)) {
  if (slots_ != nullptr) slots_->lane_states_[static_cast<std::size_t>(lane_)] = this;
}

RunState& RunState::operator=(RunState&& other) noexcept {
  if (this == &other) return *this;
  drop();
  host_state_ = std::move(other.host_state_);
  exists_ = std::exchange(other.exists_, false);
  slots_ = std::exchange(other.slots_, nullptr);
  lane_ = std::exchange(other.lane_, -1);
  if (slots_ != nullptr) slots_->lane_states_[static_cast<std::size_t>(lane_)] = this;
  return *this;
}

RunState::RunState(LaneSlots& seats, std::int64_t lane) : exists_(true), slots_(&seats), lane_(lane) {
  seats.lane_states_[static_cast<std::size_t>(lane)] = this;
}

program::LaneState& RunState::on_host() {
  release_lane();
  return host_state_;
}

void RunState::release_lane() {
  if (slots_ != nullptr) slots_->evict(lane_);
}

void RunState::drop() noexcept {
  release_lane();
  host_state_ = {};
  exists_ = false;
}

std::vector<Tensor> RunState::extract() const {
  return slots_ != nullptr ? slots_->program_.extract(lane_) : host_state_.extract();
}

Result<RunState> RunState::clone(std::uint64_t trial_seed) const {
  if (slots_ == nullptr) {
    LANISTA_ASSIGN(program::LaneState copy, host_state_.clone(trial_seed));
    return RunState(std::move(copy));
  }
  program::Program& program = slots_->program_;
  if (const std::int64_t lane = slots_->empty_lane(); lane >= 0) {
    LANISTA_TRY(program.clone(lane_, lane, trial_seed));
    return RunState(*slots_, lane);
  }
  std::vector<Tensor> tensors = program.extract(lane_);
  set_state_seed(tensors, trial_seed);
  LANISTA_ASSIGN(program::LaneState copy, program.make_state(trial_seed));
  LANISTA_TRY(copy.insert(tensors));
  return RunState(std::move(copy));
}

LaneSlots::LaneSlots(program::Program program)
    : program_(std::move(program)), lane_states_(static_cast<std::size_t>(program_.lanes()), nullptr) {}

LaneSlots::~LaneSlots() { evict_all_but({}); }

std::int64_t LaneSlots::empty_lane() const {
  const auto found = std::ranges::find(lane_states_, static_cast<RunState*>(nullptr));
  return found == lane_states_.end() ? -1 : found - lane_states_.begin();
}

void LaneSlots::evict(std::int64_t lane) {
  RunState& state = *std::exchange(lane_states_[static_cast<std::size_t>(lane)], nullptr);
  state.host_state_ = program_.detach(lane);
  state.slots_ = nullptr;
  state.lane_ = -1;
}

void LaneSlots::assign_lanes(std::span<RunState* const> states) {
  LANISTA_CHECK(states.size() <= lane_states_.size(),
                std::to_string(states.size()) + " states for " + std::to_string(lane_states_.size()) + " lanes");
  std::size_t next = 0;
  for (RunState* state : states) {
    if (state->is_in(*this)) continue;
    state->release_lane();
    std::int64_t lane = empty_lane();
    if (lane < 0) {
      while (std::ranges::find(states, lane_states_[next]) != states.end()) ++next;
      lane = static_cast<std::int64_t>(next);
      evict(lane);
    }
    program_.attach(lane, std::move(state->host_state_));
    lane_states_[static_cast<std::size_t>(lane)] = state;
    state->slots_ = this;
    state->lane_ = lane;
  }
}

void LaneSlots::evict_all_but(std::span<RunState* const> states) {
  for (std::size_t lane = 0; lane < lane_states_.size(); ++lane) {
    if (lane_states_[lane] == nullptr || std::ranges::find(states, lane_states_[lane]) != states.end()) continue;
    evict(static_cast<std::int64_t>(lane));
  }
}

}  // namespace lanista::train
