#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/train/batch_adapter.h"
#include "lanista/exec/train/search_record.h"
#include "lanista/exec/train/trainer_input.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/trial.h"

namespace lanista::train {

/// The settings (learning rate, batch and other numbers of study::StepSettings) of a trial from each step on: the
/// recipe's, then those of a schedule, a tune search or an adaptive batch. A value.
class SettingHistory {
 public:
  /// Returns the settings of a trial before its first step. Errors: kInvalidArgument (options of train.tune or
  /// data.batch), with an adaptive batch those of BatchAdapter::make.
  static Result<SettingHistory> make(const TrainerInput& input);

  /// The setting of a step, counted from 0. Valid until the history changes.
  const study::StepSettings& at(std::int64_t step) const;
  /// The first step after `step` with another entry of the history; the largest int64 if there is none.
  std::int64_t end_of_setting(std::int64_t step) const;
  /// The gradient noise of the trial; none if its batch is not adaptive.
  const std::optional<BatchAdapter>& adapter() const { return adapter_; }

  /// Sets parameters from `step` on, at or after the last change; those without a value in `setting` stay. Errors:
  /// kInvalidArgument (a name that cannot be tuned, or a value out of range).
  Result<void> add(std::int64_t step, const space::Sample& setting);
  /// For a trial with an adaptive batch: adds a measurement of the gradient noise (BatchAdapter::note).
  void note_gradient_noise(double small_square, double square, std::int64_t rows);
  /// Changes batch and learning rate from `step` on, as the gradient noise requires. Does nothing without an adaptive
  /// batch.
  ///
  /// `first_lr` is the learning rate of the recipe, and a pass has `pass_rows` rows. Returns the record of the change:
  /// a branch without steps, with trend study::kAdapted. Its speed is (expected goodput) / (goodput of the current
  /// batch). Nothing if there is no change.
  std::optional<study::Branch> adapt_batch(std::int64_t step, double first_lr, std::int64_t pass_rows);

  /// Replaces the settings by those of a copy of the run that won a tune search; the gradient noise stays.
  void continue_from(const SettingHistory& copy) { settings_ = copy.settings_; }
  /// Returns a copy, in which add() then allocates no memory once.
  SettingHistory copy() const;
  /// Adds the gradient noise as "noise" to TrainerState::facts, if the batch is adaptive.
  void write_to(std::map<std::string, std::string>& facts) const;
  /// Returns the history of a trial in a saved state with these TrainerState::facts, measurements and search. Without
  /// tune search and adaptive batch it is a copy of this one. Errors: kDataLoss (the noise is missing or malformed, or
  /// a recorded setting is invalid).
  Result<SettingHistory> restored(const TrialDefinition& definition, const std::map<std::string, std::string>& facts,
                                  std::span<const study::Measurement> measurements, const SearchRecord& search) const;

 private:
  std::vector<std::pair<std::int64_t, study::StepSettings>> settings_;  // from which step on; the first: from 0
  std::optional<BatchAdapter> adapter_;
};

}  // namespace lanista::train
