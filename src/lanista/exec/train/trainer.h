#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lanista/exec/train/lane_group.h"

namespace lanista::train {

/// One trial in a group of its own: trains step by step, with data order, learning rate, evaluation at the end of each
/// epoch. One thread at a time.
class Trainer {
 public:
  /// Fresh parameters. Errors: kInvalidArgument (model does not fit data or loss), kResourceExhausted, kUnimplemented
  /// (the trial searches for its settings: search_setting).
  static Result<Trainer> create(const TrainerInput& input);
  std::int64_t steps_per_epoch() const { return run_.steps_per_epoch(); }
  std::int64_t step_count() const { return run_.step_count(); }    ///< steps done
  std::int64_t epochs_done() const { return run_.epochs_done(); }  ///< whole epochs, each measured
  /// Trains one step; at the end of an epoch also evaluates, and `measurements` grows by one. True if it did. Throws
  /// std::runtime_error with what an operator of the caller threw.
  bool step();
  const std::vector<study::Measurement>& measurements() const { return run_.measurements(); }

  /// Metrics of the present weights on a part, names with `prefix` in front.
  std::map<std::string, double> evaluate(data::Part part, const std::string& prefix) {
    return group_.evaluate(run_, part, prefix);
  }

  TrainerState save() const { return run_.save(); }
  /// The inverse of save. Errors: kDataLoss naming what is missing or does not fit; then the trainer is as before.
  Result<void> restore(const TrainerState& state) { return run_.restore(state); }

  std::string describe() const { return group_.describe(); }  ///< the program, one line an instruction

 private:
  Trainer(LaneGroup group, TrialRun run) : group_(std::move(group)), run_(std::move(run)) {}

  LaneGroup group_;
  TrialRun run_;
};

}  // namespace lanista::train
