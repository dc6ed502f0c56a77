#include "lanista/exec/train/seats.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::train {

void give_seed(std::vector<Tensor>& state, std::uint64_t trial_seed) {
  for (Tensor& tensor : state) {
    if (tensor.name == "seed") elements_of<std::int64_t>(tensor)[0] = static_cast<std::int64_t>(trial_seed);
  }
}

RunState::RunState(RunState&& other) noexcept
    : home_(std::move(other.home_)),
      exists_(std::exchange(other.exists_, false)),
      seats_(std::exchange(other.seats_, nullptr)),
      lane_(std::exchange(other.lane_, -1)) {
  if (seats_ != nullptr) seats_->sitting_[static_cast<std::size_t>(lane_)] = this;
}

RunState& RunState::operator=(RunState&& other) noexcept {
  if (this == &other) return *this;
  drop();
  home_ = std::move(other.home_);
  exists_ = std::exchange(other.exists_, false);
  seats_ = std::exchange(other.seats_, nullptr);
  lane_ = std::exchange(other.lane_, -1);
  if (seats_ != nullptr) seats_->sitting_[static_cast<std::size_t>(lane_)] = this;
  return *this;
}

RunState::RunState(Seats& seats, std::int64_t lane) : exists_(true), seats_(&seats), lane_(lane) {
  seats.sitting_[static_cast<std::size_t>(lane)] = this;
}

nn::LaneState& RunState::at_home() {
  leave_seat();
  return home_;
}

void RunState::leave_seat() {
  if (seats_ != nullptr) seats_->send_home(lane_);
}

void RunState::drop() noexcept {
  leave_seat();
  home_ = {};
  exists_ = false;
}

std::vector<Tensor> RunState::extract() const {
  return seats_ != nullptr ? seats_->program_.extract(lane_) : home_.extract();
}

Result<RunState> RunState::clone(std::uint64_t trial_seed) const {
  if (seats_ == nullptr) {
    LANISTA_ASSIGN(nn::LaneState copy, home_.clone(trial_seed));
    return RunState(std::move(copy));
  }
  nn::Program& program = seats_->program_;
  if (const std::int64_t lane = seats_->empty_lane(); lane >= 0) {
    LANISTA_TRY(program.clone(lane_, lane, trial_seed));
    return RunState(*seats_, lane);
  }
  std::vector<Tensor> tensors = program.extract(lane_);
  give_seed(tensors, trial_seed);
  LANISTA_ASSIGN(nn::LaneState copy, program.make_state(trial_seed));
  LANISTA_TRY(copy.insert(tensors));
  return RunState(std::move(copy));
}

Seats::Seats(nn::Program program)
    : program_(std::move(program)), sitting_(static_cast<std::size_t>(program_.lanes()), nullptr) {}

Seats::~Seats() { keep({}); }

std::int64_t Seats::empty_lane() const {
  const auto found = std::ranges::find(sitting_, static_cast<RunState*>(nullptr));
  return found == sitting_.end() ? -1 : found - sitting_.begin();
}

void Seats::send_home(std::int64_t lane) {
  RunState& state = *std::exchange(sitting_[static_cast<std::size_t>(lane)], nullptr);
  state.home_ = program_.detach(lane);
  state.seats_ = nullptr;
  state.lane_ = -1;
}

void Seats::seat(std::span<RunState* const> states) {
  LANISTA_CHECK(states.size() <= sitting_.size(),
                std::to_string(states.size()) + " states for " + std::to_string(sitting_.size()) + " lanes");
  std::size_t next = 0;
  for (RunState* state : states) {
    if (state->sits_in(*this)) continue;
    state->leave_seat();
    std::int64_t lane = empty_lane();
    if (lane < 0) {
      while (std::ranges::find(states, sitting_[next]) != states.end()) ++next;
      lane = static_cast<std::int64_t>(next);
      send_home(lane);
    }
    program_.attach(lane, std::move(state->home_));
    sitting_[static_cast<std::size_t>(lane)] = state;
    state->seats_ = this;
    state->lane_ = lane;
  }
}

void Seats::keep(std::span<RunState* const> states) {
  for (std::size_t lane = 0; lane < sitting_.size(); ++lane) {
    if (sitting_[lane] == nullptr || std::ranges::find(states, sitting_[lane]) != states.end()) continue;
    send_home(static_cast<std::int64_t>(lane));
  }
}

}  // namespace lanista::train
