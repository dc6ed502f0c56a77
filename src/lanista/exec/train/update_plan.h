#pragma once

#include <algorithm>
#include <cstdint>

#include "lanista/exec/train/selection.h"
#include "lanista/exec/train/setting_history.h"
#include "lanista/search/study/epoch_schedule.h"

namespace lanista::train {

/// The next updates of a trial under one setting, up to the end of its epoch, its data pass or its setting.
///
/// A step is a batch of the first size, so with a larger batch an update is several steps. The last update has fewer
/// steps where the plan ends within it. Refers to the schedule and the settings, and is valid until they change.
class UpdatePlan {
 public:
  /// Plans the updates of a trial from step `step` (counted from 0) on.
  UpdatePlan(const study::EpochSchedule& epochs, const SettingHistory& settings, std::int64_t step);

  /// The setting (learning rate, batch and others) of all updates of the plan.
  const study::StepSettings& setting() const { return setting_; }
  /// The position of the next step in the data: epoch, pass, and whether it ends the pass.
  DataPosition position() const;
  /// Steps to the end of the epoch.
  std::int64_t steps_left_in_epoch() const {
    return epochs_.steps_through(epochs_.epochs_completed(step_) + 1) - step_;
  }

  /// Steps to the end of the plan.
  std::int64_t num_steps() const { return end_ - step_; }
  /// Updates to the end of the plan.
  std::int64_t num_updates() const { return (num_steps() + steps_per_full_update() - 1) / steps_per_full_update(); }
  /// Steps of an update with a whole batch: (batch of the setting) / (first batch).
  std::int64_t steps_per_full_update() const { return setting_.batch / epochs_.batch; }
  /// Steps of the next `updates` updates, or to the end of the plan if that is nearer.
  std::int64_t steps_of(std::int64_t updates) const { return std::min(updates * steps_per_full_update(), num_steps()); }
  /// Steps of the next update alone.
  std::int64_t steps_in_next() const { return steps_of(1); }
  /// Training rows that the next update reads.
  std::int64_t rows_in_next() const { return epochs_.rows_read(step_ + steps_in_next()) - epochs_.rows_read(step_); }

 private:
  const study::EpochSchedule& epochs_;
  const study::StepSettings& setting_;
  std::int64_t step_;
  std::int64_t end_;  // step with which the plan ends, exclusive
};

}  // namespace lanista::train
