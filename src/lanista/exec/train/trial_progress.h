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

/// Reads the measurements in the facts of a state. Errors: kDataLoss.
Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts);

/// How far a trial has trained: its steps, the loss of its current epoch, and its measurements. A value.
class TrialProgress {
 public:
  /// Reads the progress of a trial from the facts of its state. Errors: kDataLoss, naming what is missing or does not
  /// fit, or the trial that owns the state.
  static Result<TrialProgress> read(const std::map<std::string, std::string>& facts, TrialId trial,
                                    const study::EpochSchedule& epochs);
  /// Adds its facts to those of a state. A branch also has the facts "trial" and "branched_at".
  void write_to(std::map<std::string, std::string>& facts, TrialId trial) const;

  std::int64_t step_count() const { return step_; }  ///< Steps done, including those of a branch's parent.
  /// The step of the parent at which this branch was made; 0: no branch.
  std::int64_t branched_at() const { return branched_at_; }
  /// Steps that the trial itself has done.
  std::int64_t own_steps() const { return step_ - branched_at_; }
  /// Sum of losses over the rows of the current epoch so far.
  double loss_sum() const { return loss_sum_; }
  /// The measurements of the trial, one for each epoch.
  const std::vector<study::Measurement>& measurements() const { return measurements_; }
  /// Number of epochs that are complete and measured.
  std::int64_t epochs_done() const { return static_cast<std::int64_t>(measurements_.size()); }

  /// Counts steps. `loss_sum` is the new sum of losses of the current epoch.
  void add_steps(std::int64_t steps, double loss_sum);
  /// Adds the measurement of the epoch that ended, and begins the next epoch.
  void add_measurement(study::Measurement measurement);
  /// Takes over steps and loss of a copy that trained on from here.
  void continue_from(const TrialProgress& copy);
  /// Returns the progress of a copy of the run at this step, which measures nothing.
  TrialProgress without_measurements() const;
  /// Returns the progress of another trial that branches at this step.
  TrialProgress branched() const;

 private:
  std::int64_t step_ = 0;
  std::int64_t branched_at_ = 0;
  double loss_sum_ = 0;
  std::vector<study::Measurement> measurements_;
};

}  // namespace lanista::train
