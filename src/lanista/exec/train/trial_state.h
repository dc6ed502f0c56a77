#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/best_epoch_weights.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/exec/train/trainer_input.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// Values of a trial that each lane of a program may set for itself, in the layout of that program.
struct LaneValues {
  std::vector<double> attrs;  ///< Attributes of nodes, in the order of program::Program::lane_attrs().
  /// Ranges of parameters with a factor of the learning rate (train.rates), ascending.
  std::vector<program::LrRange> lr_ranges;
};

/// The tensors of a run: its state on the host, in a lane or restored, and the weights of its selected epoch.
class TrialState {
 public:
  TrialState() = default;  ///< No tensors; selects the last epoch.
  /// No tensors; `best` selects an epoch.
  explicit TrialState(BestEpochWeights best) : best_epoch_(std::move(best)) {}

  /// True if the tensors are in memory: in a lane, in host memory, or restored and not yet admitted.
  bool is_in_memory() const { return is_admitted() || restored_.has_value(); }
  /// True if a group has admitted the run, so that it can train at once.
  bool is_admitted() const { return static_cast<bool>(state_); }
  /// The state of an admitted run; without admission it converts to false.
  const RunState& run_state() const { return state_; }
  /// The same state, to move it between lanes.
  RunState& run_state() { return state_; }
  /// The values that an admitted run gives to its lane. Valid until the next admission.
  const LaneValues& lane_values() const { return lane_values_; }

  /// Makes the state for a program: from the restored tensors, from `start`, or with random values if `start` is null.
  /// A state that exists stays. Also sets lane_values(), the trial's own attributes of nodes and learning rate factors,
  /// and reserves memory for the weights of the selected epoch. Errors: kResourceExhausted, kDataLoss (restored tensors
  /// do not fit), kInvalidArgument (the start does not fit).
  Result<void> admit(const program::Program& program, const TrainerInput& input, const StartWeights* start);
  /// Adds the measurement of an epoch of the run. Copies the current weights if this epoch is the best so far and the
  /// rule may select an earlier epoch than the last. If it throws, nothing has changed.
  void observe(const study::Measurement& measurement) { best_epoch_.observe(measurement, state_); }
  /// Gives a copy of the tensors, with seed `trial_seed`, to `other`, which selects its own epoch. Requires
  /// is_admitted(). Errors: kResourceExhausted.
  Result<void> copy_to(TrialState& other, std::uint64_t trial_seed) const;
  /// Moves the state of a copy of the run here; the selected weights stay.
  void continue_from(TrialState& copy) { state_ = std::move(copy.state_); }

  /// Returns copies of the tensors of a run that has done `steps` steps, with these TrainerState::facts; for
  /// restored tensors without admission, with the facts of restore(). A state in a lane stays there.
  TrainerState save(std::map<std::string, std::string> facts, std::int64_t steps) const;
  /// Restores the result of save() for a run with these steps and measurements. Without admission, admit() checks the
  /// tensors. A state in a lane moves to host memory. Errors: kDataLoss (tensors are missing or do not fit); then no
  /// tensor has changed.
  Result<void> restore(TrainerState state, std::int64_t steps, std::span<const study::Measurement> measurements);
  /// Frees the memory of all tensors.
  void release();

 private:
  RunState state_;                        // none: not admitted, or released
  std::optional<TrainerState> restored_;  // until it is admitted
  BestEpochWeights best_epoch_;
  LaneValues lane_values_;
};

}  // namespace lanista::train
