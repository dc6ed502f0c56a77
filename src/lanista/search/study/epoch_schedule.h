#pragma once

#include <cstdint>

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::study {

/// Division of the steps of a trial into epochs and into passes over the training rows. Steps, epochs and passes count
/// from 0.
///
/// Rows are read pass after pass: a pass reads each row once, its last batch may be smaller, and the next pass begins
/// with the next step. An epoch is one pass, or `length` steps; the budget in steps ends an epoch early. With growing
/// passes (all_rows_at above 1), pass p reads the share (p + 1) / all_rows_at of the rows. Epochs are then passes, and
/// there is no budget in steps.
struct EpochSchedule {
  std::int64_t rows = 1;    ///< Number of training rows.
  std::int64_t batch = 1;   ///< Rows of a step.
  std::int64_t length = 1;  ///< Steps of an epoch.
  /// Training steps of the whole trial; the epoch that reaches them ends early; 0: no budget.
  std::int64_t budget = 0;
  /// Number of passes until one reads all rows: pass p, from 0, reads the share min(1, (p + 1) / all_rows_at).
  std::int64_t all_rows_at = 1;

  /// Returns the number of steps of a pass over all rows.
  std::int64_t pass_steps() const { return (rows + batch - 1) / batch; }
  /// Returns the number of rows that pass `pass` reads: its share of all rows, rounded up.
  std::int64_t pass_rows(std::int64_t pass) const;
  /// Returns the total number of steps of all passes before `pass`. O(log rows).
  std::int64_t pass_begin(std::int64_t pass) const;
  /// Returns the pass that step `step` belongs to; the inverse of pass_begin. O(log^2 rows).
  std::int64_t pass(std::int64_t step) const;
  /// Returns the number of epochs that are complete after `steps` steps. After the budget, epochs have full length
  /// again.
  std::int64_t epochs_completed(std::int64_t steps) const;
  /// Returns the total number of steps of the first `epochs` epochs; the inverse of epochs_completed.
  std::int64_t steps_through(std::int64_t epochs) const;
  /// Returns the number of steps before the epoch that step `step` belongs to.
  std::int64_t begin(std::int64_t step) const { return steps_through(epochs_completed(step)); }
  /// Returns the number of rows that the first `steps` steps read; a row counts each time it is read.
  std::int64_t rows_read(std::int64_t steps) const;
  /// Returns the number of passes that the first `epochs` epochs touch; the last may be incomplete. With growing
  /// passes: their rows in units of a full pass, rounded up.
  std::int64_t num_passes(std::int64_t epochs) const;
};

/// Returns the schedule of a trial with this recipe on `rows` training rows.
EpochSchedule epoch_schedule_of(const Recipe& recipe, std::int64_t rows);

/// Sets train.length.epochs to the number of epochs in the budget in steps, the last one perhaps shorter. Without such
/// a budget or without steps_per_epoch it changes nothing. Errors: kInvalidArgument (more than kMaxEpochs epochs).
Result<void> resolve_epochs(TrainConfig& train);

}  // namespace lanista::study
