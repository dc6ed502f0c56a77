#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::study {

/// How the steps of a trial make up its epochs, and its passes over the training rows. A step is known by how many came
/// before it. Rows stream on: a pass reads every row once, its last step what is left, and the next pass begins with
/// the next step, whatever epoch that is in. An epoch is a pass, or so many steps as the recipe says; one ends where a
/// budget in steps does. Where passes grow, the first reads a share of the rows, the second twice as much, until they
/// read all of them; epochs are then passes, and there is no budget in steps.
struct EpochSchedule {
  std::int64_t rows = 1;    ///< of training
  std::int64_t batch = 1;   ///< rows of a step
  std::int64_t length = 1;  ///< steps of an epoch
  std::int64_t budget = 0;  ///< the step behind which an epoch ends though it is short; 0: there is none
  std::int64_t all_rows_at =
      1;  ///< the first pass over all rows, counted from 1; pass p before it reads p / all_rows_at

  std::int64_t pass_steps() const { return (rows + batch - 1) / batch; }  ///< of a pass over all rows
  /// Rows that pass `pass`, counted from 0, reads: its share of them, rounded up.
  std::int64_t pass_rows(std::int64_t pass) const;
  /// Steps of all passes before it. O(log rows).
  std::int64_t pass_begin(std::int64_t pass) const;
  /// The pass that step `step` is in; the inverse. O(log^2 rows).
  std::int64_t pass(std::int64_t step) const;
  /// Epochs that are over after so many steps. Behind the budget they are whole again.
  std::int64_t epochs_completed(std::int64_t steps) const;
  /// Steps of so many epochs; the inverse.
  std::int64_t steps_through(std::int64_t epochs) const;
  /// After how many steps the epoch began that step `step` is in.
  std::int64_t begin(std::int64_t step) const { return steps_through(epochs_completed(step)); }
  /// Rows that so many steps have read, each as often as it was read.
  std::int64_t rows_read(std::int64_t steps) const;
  /// Passes that so many epochs are in, the last of which may be cut short. Where they grow: passes over all rows that
  /// they are worth, rounded up.
  std::int64_t num_passes(std::int64_t epochs) const;
};

/// Of a trial with this recipe on so many training rows.
EpochSchedule epoch_schedule_of(const Recipe& recipe, std::int64_t rows);

/// Says `train.epochs` of a budget in steps, once it is known how many steps an epoch has; else changes nothing.
/// Errors: kInvalidArgument (too many epochs).
Result<void> resolve_epochs(TrainConfig& train);

}  // namespace lanista::study
