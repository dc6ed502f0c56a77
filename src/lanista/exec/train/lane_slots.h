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

/// Replaces the i64 scalar "seed" in the tensors of a state (program::LaneState::extract), which makes it the state of
/// another trial. Does nothing without that tensor.
void set_state_seed(std::vector<Tensor>& state, std::uint64_t trial_seed);

/// The state of a run, in host memory or in a lane slot.
///
/// At any time the state belongs to this object or to the executable of the lane (LaneSlots). This object may be moved
/// in both cases. If the slots end, the state moves to host memory. If this object ends, its lane is empty. Use of a
/// state in a lane is use of its slots, so it needs their thread. Only the conversion to bool may run in another
/// thread.
class RunState {
 public:
  RunState() = default;  ///< No state; converts to false.
  /// A state in host memory.
  explicit RunState(program::LaneState state)
      : host_state_(std::move(state)), exists_(static_cast<bool>(host_state_)) {}
  RunState(RunState&& other) noexcept;
  RunState& operator=(RunState&& other) noexcept;
  ~RunState() { drop(); }

  /// True if there is a state, on the host or in a lane.
  explicit operator bool() const { return exists_; }
  /// True if the state is in a lane of `seats`.
  bool is_in(const LaneSlots& seats) const { return slots_ == &seats; }
  /// Index of the lane; -1: the state is in host memory, or there is none.
  std::int64_t lane() const { return lane_; }

  /// Moves the state to host memory, if it is in a lane, and returns it. The reference is valid until the state moves
  /// again.
  program::LaneState& on_host();
  /// Moves the state to host memory, if it is in a lane.
  void release_lane();
  /// Deletes the state; its lane, if any, is then empty.
  void drop() noexcept;
  /// Returns a copy of the state as tensors (program::LaneState::extract). The state stays in its lane or in host
  /// memory.
  std::vector<Tensor> extract() const;
  /// Returns a copy of the state for another trial with seed `trial_seed`: in an empty lane of the same slots, or else
  /// in host memory. Errors: kResourceExhausted.
  Result<RunState> clone(std::uint64_t trial_seed) const;

 private:
  friend class LaneSlots;
  RunState(LaneSlots& seats, std::int64_t lane);

  program::LaneState host_state_;
  bool exists_ = false;
  LaneSlots* slots_ = nullptr;
  std::int64_t lane_ = -1;
};

/// The lanes of a program, and the run states in them.
///
/// A state keeps its lane until another state needs one and none is empty, or until the state ends. So a state is
/// attached once, however often it is trained, saved and measured. The slots must not move in memory. One thread at a
/// time, which must also be the one that uses the states in lanes.
class LaneSlots {
 public:
  /// Takes a program with empty lanes.
  explicit LaneSlots(program::Program program);
  ~LaneSlots();  ///< Moves all states to host memory.
  LaneSlots(const LaneSlots&) = delete;
  LaneSlots& operator=(const LaneSlots&) = delete;

  /// The program, for use; its lanes must not be attached or detached directly.
  program::Program& program() { return program_; }
  const program::Program& program() const { return program_; }

  /// Puts all `states`, which must exist, into lanes; there are at most as many as lanes. Those in lanes of other slots
  /// leave them first. As many other states as necessary move to host memory. If it throws, no state is lost.
  void assign_lanes(std::span<RunState* const> states);
  /// Moves all states in lanes except `states` to host memory.
  void evict_all_but(std::span<RunState* const> states);

 private:
  friend class RunState;
  std::int64_t empty_lane() const;  // -1: none
  void evict(std::int64_t lane);

  program::Program program_;
  std::vector<RunState*> lane_states_;  // of each lane; null: it is empty
};

}  // namespace lanista::train
