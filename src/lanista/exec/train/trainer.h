#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/exec/train/lane_group.h"

namespace lanista::train {

/// One trial in a lane group of its own: it trains step by step and evaluates at the end of each epoch. One thread at a
/// time.
class Trainer {
 public:
  /// Returns a trainer with the start weights or fresh parameters. Errors: kInvalidArgument (the model does not fit the
  /// data or the loss; options of the recipe; start weights that do not fit), kResourceExhausted, kUnimplemented (an
  /// operator without a kernel, or a recipe with a tune search).
  static Result<Trainer> create(const TrainerInput& input);
  /// Training steps of one epoch (study::EpochSchedule::length). An epoch may be shorter: one with growing passes, or
  /// the last of a budget in steps.
  std::int64_t steps_per_epoch() const { return run_.definition().epochs.length; }
  std::int64_t step_count() const { return run_.progress().step_count(); }  ///< Steps done, in all epochs.
  /// Number of whole epochs, each measured.
  std::int64_t epochs_done() const { return run_.progress().epochs_done(); }
  /// Trains one update, which is one step unless the batch grew. With example selection it may be a step without an
  /// update. At the end of an epoch it also adds a measurement and returns true. Throws std::runtime_error with the
  /// text of the failure, such as an exception of the caller's operator.
  bool step();
  /// The measurements so far, one an epoch, in order. Valid until the next step() or restore().
  const std::vector<study::Measurement>& measurements() const { return run_.progress().measurements(); }

  /// Returns loss and metrics of the current weights on a part by name, with `prefix` in front.
  std::map<std::string, double> evaluate(data::Part part, const std::string& prefix) {
    return group_.evaluate(run_, part, prefix);
  }

  /// Returns a copy of the state from which a trainer with equal input resumes.
  TrainerState save() const { return run_.save(); }
  /// Restores the result of save(). Errors: kDataLoss, naming what is missing or does not fit; then nothing has
  /// changed.
  Result<void> restore(const TrainerState& state) { return run_.restore(state); }

  std::string describe() const { return group_.describe(); }  ///< Text for people: the program, one line a kernel call.

 private:
  Trainer(LaneGroup group, TrialRun run) : group_(std::move(group)), run_(std::move(run)) {}

  LaneGroup group_;
  TrialRun run_;
};

}  // namespace lanista::train
