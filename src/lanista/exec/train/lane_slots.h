#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/program.h"

namespace lanista::train {

class LaneSlots;

/// Replaces the seed in a state (nn::LaneState::extract), which makes it the state of another trial.
void set_state_seed(std::vector<Tensor>& state, std::uint64_t trial_seed);

/// The state of a run, in host memory or in a lane slot.
///
/// It has one owner at any time: this value, or the executable of the lane (LaneSlots). It may be moved in both cases.
/// If the slots end, the state moves to host memory. If this value ends, its lane is empty. Use of a state in a lane is
/// use of its slots, so it needs their thread. Only the test for existence may run in another thread.
class RunState {
 public:
  RunState() = default;  ///< no state
  explicit RunState(nn::LaneState state) : host_state_(std::move(state)), exists_(static_cast<bool>(host_state_)) {}
  RunState(RunState&& other) noexcept;
  RunState& operator=(RunState&& other) noexcept;
  ~RunState() { drop(); }

  explicit operator bool() const { return exists_; }
  bool is_in_lane() const { return slots_ != nullptr; }
  /// Whether it is in a lane of these slots.
  bool is_in(const LaneSlots& seats) const { return slots_ == &seats; }
  std::int64_t lane() const { return lane_; }  ///< -1: in host memory

  /// Moves the state to host memory and returns it.
  nn::LaneState& on_host();
  /// Moves the state to host memory, if it is in a lane.
  void release_lane();
  /// Deletes the state.
  void drop() noexcept;
  /// nn::LaneState::extract. The state stays in its place.
  std::vector<Tensor> extract() const;
  /// Returns a copy for another trial: in an empty lane of the same slots, or else in host memory. Errors: those of
  /// nn::LaneState::clone.
  Result<RunState> clone(std::uint64_t trial_seed) const;

 private:
  friend class LaneSlots;
  RunState(LaneSlots& seats, std::int64_t lane);

  nn::LaneState host_state_;
  bool exists_ = false;
  LaneSlots* slots_ = nullptr;
  std::int64_t lane_ = -1;
};

/// The lanes of a program, and the run states in them.
///
/// A state keeps its lane until another state needs one and none is empty, or until it ends. So a state is attached
/// once, however often it is trained, saved and measured. It must not move in memory. One thread at a time, which must
/// also be the one that uses the states in lanes.
class LaneSlots {
 public:
  explicit LaneSlots(nn::Program program);
  ~LaneSlots();  ///< moves all states to host memory
  LaneSlots(const LaneSlots&) = delete;
  LaneSlots& operator=(const LaneSlots&) = delete;

  nn::Program& program() { return program_; }
  const nn::Program& program() const { return program_; }

  /// Puts all `states` into lanes; there are at most as many as lanes. They leave lanes of other slots first. As many
  /// other states as necessary move to host memory. If it throws, no state is lost.
  void assign_lanes(std::span<RunState* const> states);
  /// Moves all states but these to host memory.
  void evict_all_but(std::span<RunState* const> states);

 private:
  friend class RunState;
  std::int64_t empty_lane() const;  // -1: none
  void evict(std::int64_t lane);

  nn::Program program_;
  std::vector<RunState*> lane_states_;  // of each lane; null: it is empty
};

}  // namespace lanista::train
