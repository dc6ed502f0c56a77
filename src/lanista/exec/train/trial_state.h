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

/// Values of a trial that each lane of a program may set for itself, in the layout of programs of its key.
struct LaneValues {
  std::vector<double> attrs;           ///< Attributes of nodes, in the order of nn::Program::lane_attrs().
  std::vector<nn::LrRange> lr_ranges;  ///< Factors of the learning rate.
};

/// The tensors of a run: its state on the host, in a lane or restored, and the weights of its selected epoch.
class TrialState {
 public:
  TrialState() = default;  ///< No tensors; selects the last epoch.
  /// No tensors; `best` selects an epoch.
  explicit TrialState(BestEpochWeights best) : best_epoch_(std::move(best)) {}

  /// Whether the tensors are in memory, on the host or in a lane.
  bool is_in_memory() const { return is_admitted() || restored_.has_value(); }
  /// Whether a group has admitted the run, so that it can train at once.
  bool is_admitted() const { return static_cast<bool>(state_); }
  /// The state of an admitted run.
  const RunState& run_state() const { return state_; }
  /// The state of an admitted run, to move it between lanes.
  RunState& run_state() { return state_; }
  /// The values that an admitted run gives to its lane.
  const LaneValues& lane_values() const { return lane_values_; }

  /// Makes the state for a program: from the restored tensors, from `start`, or with random values if it is null.
  /// Errors: kResourceExhausted, kDataLoss, kInvalidArgument (the start does not fit).
  Result<void> admit(const nn::Program& program, const TrainerInput& input, const StartWeights* start);
  /// Selects among the epochs of the run, and copies the weights if this one is the best so far. If it throws, nothing
  /// has changed.
  void observe(const study::Measurement& measurement) { best_epoch_.observe(measurement, state_); }
  /// Gives a copy of the tensors to another run, which selects its own epoch. `facts` are those of the other run.
  /// Errors: kResourceExhausted.
  Result<void> copy_to(TrialState& other, std::uint64_t trial_seed, std::map<std::string, std::string> facts) const;
  /// Takes over the state of a copy of the run.
  void continue_from(TrialState& copy) { state_ = std::move(copy.state_); }

  /// Returns the tensors of a run that has done `own_steps` steps, with these facts. A state in a lane is copied.
  TrainerState save(std::map<std::string, std::string> facts, std::int64_t own_steps) const;
  /// Restores the result of save() for a run with these steps and measurements. Errors: kDataLoss; then nothing has
  /// changed.
  Result<void> restore(TrainerState state, std::int64_t own_steps, std::span<const study::Measurement> measurements);
  /// Frees the memory of all tensors.
  void release();

 private:
  RunState state_;                        // none: not admitted, or released
  std::optional<TrainerState> restored_;  // until it is admitted
  BestEpochWeights best_epoch_;
  LaneValues lane_values_;
};

}  // namespace lanista::train
