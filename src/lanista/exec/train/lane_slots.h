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

/// Makes a trial's state (nn::LaneState::extract) another one's: of this seed.
void set_state_seed(std::vector<Tensor>& state, std::uint64_t trial_seed);

/// The state of a run. It has one owner at any time: this value (the state is at home), or the machine in whose lane it
/// sits (LaneSlots). Moves wherever the state is. A state whose seats go comes home, and one that goes gives its seat back.
/// Whoever does anything with a seated state must be the one who may use its seats; only whether there is a state at
/// all, which no change of its place touches, may be asked by whoever has the run.
class RunState {
 public:
  RunState() = default;  ///< none
  explicit RunState(nn::LaneState state) : host_state_(std::move(state)), exists_(static_cast<bool>(host_state_)) {}
  RunState(RunState&& other) noexcept;
  RunState& operator=(RunState&& other) noexcept;
  ~RunState() { drop(); }

  explicit operator bool() const { return exists_; }
  bool is_in_lane() const { return slots_ != nullptr; }
  bool is_in(const LaneSlots& seats) const { return slots_ == &seats; }
  std::int64_t lane() const { return lane_; }  ///< -1: at home

  /// The state, at home from here on.
  nn::LaneState& on_host();
  void release_lane();
  /// There is none then.
  void drop() noexcept;
  /// nn::LaneState::extract, wherever it is; it stays there.
  std::vector<Tensor> extract() const;
  /// A copy for another trial: beside a seated one, if a lane is empty there, or else at home. Errors: as of
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

/// The lanes of a program and the states that sit in them. LaneSlots are sticky: who has one keeps it until somebody else
/// wants in and no lane is empty, or until it goes. So a state is attached once, however often it is trained, saved and
/// measured here. Stays where it is in memory. One thread at a time, which is also the one for whoever sits here.
class LaneSlots {
 public:
  explicit LaneSlots(nn::Program program);
  ~LaneSlots();  ///< whoever sits here goes home
  LaneSlots(const LaneSlots&) = delete;
  LaneSlots& operator=(const LaneSlots&) = delete;

  nn::Program& program() { return program_; }
  const nn::Program& program() const { return program_; }

  /// All of these states, at most as many as there are lanes, sit here afterwards. Those that sit elsewhere leave it
  /// first; of others that sit here, as many go home as must. If it throws, every state is somewhere, and none is lost.
  void assign_lanes(std::span<RunState* const> states);
  /// All go home but these.
  void evict_all_but(std::span<RunState* const> states);

 private:
  friend class RunState;
  std::int64_t empty_lane() const;  // -1: none
  void evict(std::int64_t lane);

  nn::Program program_;
  std::vector<RunState*> lane_states_;  // in each lane; null: it is empty
};

}  // namespace lanista::train
