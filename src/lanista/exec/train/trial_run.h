#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/search_record.h"
#include "lanista/exec/train/setting_history.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/exec/train/trainer_input.h"
#include "lanista/exec/train/training_rows.h"
#include "lanista/exec/train/trial_definition.h"
#include "lanista/exec/train/trial_progress.h"
#include "lanista/exec/train/trial_state.h"
#include "lanista/exec/train/update_plan.h"
#include "lanista/search/study/config.h"

namespace lanista::train {

/// One trial in training: its progress, its settings, the rows that it reads, and its state.
///
/// It trains in the lanes of any groups with its key (LaneGroup), and its numbers depend on its input only. After
/// training its state stays in a lane (RunState). One thread at a time. While the state is in a lane, that is the
/// thread of the group; only progress() and TrialState::is_in_memory() may be used in another thread.
class TrialRun {
 public:
  /// Returns the trial before its first step, without a state. Errors: kInvalidArgument (the loss, a metric, the
  /// augmentation, or options of train.select, train.tune or data.batch do not suit the data or the recipe).
  static Result<TrialRun> create(const TrainerInput& input);

  /// The properties of the trial that never change, shared with its copies.
  const TrialDefinition& definition() const { return *definition_; }
  /// Steps, loss sum of the current epoch, and measurements so far.
  const TrialProgress& progress() const { return progress_; }
  /// The settings (learning rate, batch and others) from each step on.
  const SettingHistory& settings() const { return settings_; }
  /// The tune search, or the change of an adaptive batch, before the current epoch; none: there was none yet.
  const SearchRecord& search() const { return search_; }
  /// The training rows of the current pass, and the example selection.
  const TrainingRows& rows() const { return rows_; }
  /// The tensors: the state in a lane or in host memory, and the selected weights.
  const TrialState& state() const { return state_; }
  /// The next updates, up to the end of the epoch, the data pass or the setting, whichever is first. Valid until the
  /// run changes.
  UpdatePlan updates() const { return {definition_->epochs, settings_, progress_.step_count()}; }
  /// Returns a copy of the recipe with the setting of the next step.
  study::Recipe recipe() const;

  /// Returns copies of the state from which the run resumes, and of its selected weights. A state in a lane stays
  /// there. Without tensors if the run was neither admitted nor restored. Throws InternalError for a released run with
  /// steps.
  TrainerState save() const;
  /// Restores the result of save(). Errors: kDataLoss, naming what is missing or does not fit, or the trial that owns
  /// the state; then the run is unchanged. If the run is not admitted, its tensors are checked at the next admission. A
  /// state in a lane moves to host memory.
  Result<void> restore(TrainerState state);
  /// Moves the run's state from its lane to host memory; does nothing if it is not in a lane.
  void release_lane() { state_.run_state().release_lane(); }
  /// Frees the memory of the run's tensors. If it has done steps, it needs restore() with the result of save() to
  /// continue.
  void release();

 private:
  friend class BranchPoint;
  friend class LaneGroup;
  TrialRun(std::shared_ptr<const TrialDefinition> definition, SettingHistory settings, TrainingRows rows)
      : definition_(std::move(definition)), settings_(std::move(settings)), rows_(std::move(rows)) {}

  const TrainerInput& input() const { return definition_->input; }
  const study::EpochSchedule& epochs() const { return definition_->epochs; }
  std::map<std::string, std::string> facts() const;
  std::string missing_state_message() const;
  Result<TrialRun> copy_with_state() const;  // errors: kResourceExhausted

  // The rest is for the group in which it trains.
  // Makes the state. Errors: those of TrialState::admit, kInternal (the run has steps, but its state is lost).
  Result<void> admit(const program::Program& program);
  // At the begin of an epoch: changes an adaptive batch as the gradient noise requires.
  void adapt_batch();
  // Makes the order of the current pass, or shares that of another run with the same batch.
  void begin_pass(std::span<TrialRun* const> others);
  // Of the next update, which is done but not counted.
  void record_gradient_noise(double small_square, double square);
  // Counts the steps of a lane. Returns true at the end of an epoch.
  bool count_steps(const program::LaneResult& end);
  // At the end of an epoch. If it throws, nothing has changed.
  void record_measurement(std::map<std::string, double> metrics);

  std::shared_ptr<const TrialDefinition> definition_;
  TrialProgress progress_;
  SettingHistory settings_;
  std::shared_ptr<const StartWeights> start_;  // first weights until the first step; null: random values
  SearchRecord search_;
  TrainingRows rows_;
  TrialState state_;
};

}  // namespace lanista::train
