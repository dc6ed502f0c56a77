#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/program.h"

namespace lanista::train {

class Seats;

/// Makes a trial's state (nn::LaneState::extract) another one's: of this seed.
void give_seed(std::vector<Tensor>& state, std::uint64_t trial_seed);

/// The state of a run. It has one owner at any time: this value (the state is at home), or the machine in whose lane it
/// sits (Seats). Moves wherever the state is. A state whose seats go comes home, and one that goes gives its seat back.
/// Whoever does anything with a seated state must be the one who may use its seats; only whether there is a state at
/// all, which no change of its place touches, may be asked by whoever has the run.
class RunState {
 public:
  RunState() = default;  ///< none
  explicit RunState(nn::LaneState state) : home_(std::move(state)), exists_(static_cast<bool>(home_)) {}
  RunState(RunState&& other) noexcept;
  RunState& operator=(RunState&& other) noexcept;
  ~RunState() { drop(); }

  explicit operator bool() const { return exists_; }
  bool is_seated() const { return seats_ != nullptr; }
  bool sits_in(const Seats& seats) const { return seats_ == &seats; }
  std::int64_t lane() const { return lane_; }  ///< -1: at home

  /// The state, at home from here on.
  nn::LaneState& at_home();
  void leave_seat();
  /// There is none then.
  void drop() noexcept;
  /// nn::LaneState::extract, wherever it is; it stays there.
  std::vector<Tensor> extract() const;
  /// A copy for another trial: beside a seated one, if a lane is empty there, or else at home. Errors: as of
  /// nn::LaneState::clone.
  Result<RunState> clone(std::uint64_t trial_seed) const;

 private:
  friend class Seats;
  RunState(Seats& seats, std::int64_t lane);

  nn::LaneState home_;
  bool exists_ = false;
  Seats* seats_ = nullptr;
  std::int64_t lane_ = -1;
};

/// The lanes of a program and the states that sit in them. Seats are sticky: who has one keeps it until somebody else
/// wants in and no lane is empty, or until it goes. So a state is attached once, however often it is trained, saved and
/// measured here. Stays where it is in memory. One thread at a time, which is also the one for whoever sits here.
class Seats {
 public:
  explicit Seats(nn::Program program);
  ~Seats();  ///< whoever sits here goes home
  Seats(const Seats&) = delete;
  Seats& operator=(const Seats&) = delete;

  nn::Program& program() { return program_; }
  const nn::Program& program() const { return program_; }

  /// All of these states, at most as many as there are lanes, sit here afterwards. Those that sit elsewhere leave it
  /// first; of others that sit here, as many go home as must. If it throws, every state is somewhere, and none is lost.
  void seat(std::span<RunState* const> states);
  /// All go home but these.
  void keep(std::span<RunState* const> states);

 private:
  friend class RunState;
  std::int64_t empty_lane() const;  // -1: none
  void send_home(std::int64_t lane);

  nn::Program program_;
  std::vector<RunState*> sitting_;  // in each lane; null: it is empty
};

}  // namespace lanista::train
