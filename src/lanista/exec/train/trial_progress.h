#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lanista/base/id.h"
#include "lanista/base/result.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// Reads the measurements in TrainerState::facts, in order. Errors: kDataLoss (they are missing or malformed).
Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts);

/// The progress of a trial: its steps, the loss of its current epoch, and its measurements. A value.
class TrialProgress {
 public:
  /// Reads the progress of a trial from TrainerState::facts, and checks that the number of measurements fits the steps.
  /// Errors: kDataLoss, naming what is missing or does not fit, or the trial that owns the state.
  static Result<TrialProgress> read(const std::map<std::string, std::string>& facts, TrialId trial,
                                    const study::EpochSchedule& epochs);
  /// Writes "epoch", "step", "loss_sum" and "measurements" into TrainerState::facts.
  void write_to(std::map<std::string, std::string>& facts) const;

  std::int64_t step_count() const { return step_; }  ///< Steps done.
  /// Sum over the rows trained in the current epoch of their loss, before each update.
  double loss_sum() const { return loss_sum_; }
  /// The measurements of the trial, one for each whole epoch, in order.
  const std::vector<study::Measurement>& measurements() const { return measurements_; }
  /// Number of epochs of this trial that are complete and measured.
  std::int64_t epochs_done() const { return static_cast<std::int64_t>(measurements_.size()); }

  /// Adds `steps` to the steps done. `loss_sum` replaces the sum of losses of the current epoch.
  void add_steps(std::int64_t steps, double loss_sum);
  /// Adds the measurement of the epoch that ended, and begins the next epoch with a loss sum of 0.
  void add_measurement(study::Measurement measurement);
  /// Replaces steps and loss sum by those of a copy that trained further; the measurements stay.
  void continue_from(const TrialProgress& copy);
  /// Returns the progress of a copy of the run at this step, which has no measurements.
  TrialProgress without_measurements() const;

 private:
  std::int64_t step_ = 0;
  double loss_sum_ = 0;
  std::vector<study::Measurement> measurements_;
};

}  // namespace lanista::train
