#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/base/tensor.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"
#include "lanista/io/data/selection_comparison.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/tuning/tuner.h"
#include "lanista/exec/train/batch_adapter.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/exec/train/best_epoch_weights.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/selection.h"
#include "lanista/exec/train/start_weights.h"

namespace lanista::train {

/// What a trial's start races against: it is the trial once more, with these weights and this factor of its rate.
struct AlternativeStartWeights {
  std::shared_ptr<const StartWeights> weights;  ///< null: random values
  double ease = 1;                              ///< study::Recipe::ease
  std::int64_t recalibrate = 0;                 ///< study::Recipe::recalibrate
};

/// What fixes a trial's numbers, and the shared things it works with.
struct TrainerInput {
  TrialId trial;
  graph::Graph model;
  study::Recipe recipe;
  std::vector<std::string> metrics;  ///< empty: accuracy for classes, mae for numbers
  std::uint64_t trial_seed = 0;
  std::uint64_t data_seed = 0;
  const data::Dataset* data = nullptr;                      ///< outlives the trainer
  const graph::OpTable* step_ops = nullptr;                 ///< step::training_ops; outlives the trainer
  const nn::Operators* operators = nullptr;                 ///< beyond those shipped, read while creating; may be null
  const std::vector<study::Metric>* own_metrics = nullptr;  ///< of the caller, beside ours; outlives the trainer
  MemoryBudget* budget = nullptr;                           ///< may be null
  data::EpochCache* epochs = nullptr;                       ///< of `data`, shared with other trials; may be null
  std::shared_ptr<const StartWeights> start = nullptr;      ///< in place of random values; null: those
  std::int64_t race_steps = 0;                              ///< that start and rivals are tried for; 0: no race
  std::vector<AlternativeStartWeights> alternative_starts = {};
  const nn::Backend* backend = &nn::cpu_backend();
  study::SelectionRule keep = {};  ///< which of its epochs the trial stands for; as it is: the last
  space::Sample known = {};   ///< for the rule: hyper-parameters, and params and flops where it asks for them
};

/// The measurements a state carries. Errors: kDataLoss.
Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts);

/// What is measured of this trial, whose loss and metrics suit its data.
Evaluation evaluation_of(const TrainerInput& input);
/// Of a program for this trial, of one lane.
nn::ProgramOptions program_options_of(const TrainerInput& input);
/// Errors: kInvalidArgument (loss or metrics do not suit the data).
Result<void> check_metrics(const TrainerInput& input);
/// Errors: kInvalidArgument if a program does not predict what the data wants.
Result<void> check_predictions(const nn::Program& program, const data::DataSpec& spec);

/// Equal for trials that can be lanes of one machine: those with one study::program_key on one backend.
Digest lane_group_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops,
                   const nn::Backend& backend);

/// One trial in training: where it is in the data, what was measured, and its state. It is trained in the lanes of
/// groups of its machine key (LaneGroup), in any of them at any step: its numbers are a function of its input alone.
/// Once trained, its state stays in the group (RunState). One thread at a time; while it is seated, the one that may
/// use the group, for everything but counters, measurements and holds_state().
class TrialRun {
 public:
  /// At its beginning, without a state as yet. Errors: kInvalidArgument (loss, metrics or augmentation do not fit the
  /// data).
  static Result<TrialRun> create(const TrainerInput& input);

  /// A child that goes on from where this run stands, as another trial: parameters, buffers, optimiser slots, steps,
  /// place in the data and the sums of the epoch in progress are the parent's; name, seed, recipe, epochs and
  /// measurements are the child's own. It is a run of `child` from here on, so its learning rate is that of its own
  /// recipe at the parent's step. Where it selects examples as the parent does, what waits to be trained on and what is
  /// remembered of losses is the parent's too. The parent is unchanged. Errors: kInvalidArgument (its programs, its data or the
  /// beginning of the epoch in progress are others than the parent's, or it has a start of its own),
  /// kFailedPrecondition (the parent has no state in memory), kResourceExhausted.
  Result<TrialRun> branch(const TrainerInput& child) const;

  /// Whether it is to search for the setting of what comes next (train.tune): it stands where an epoch begins, and its
  /// rules say so. What a search found is told by record_search.
  bool is_search_due() const;
  /// Itself once more, to try a setting from here on: its state is a copy, and it measures and keeps nothing. With
  /// `data_seed` it reads other mini-batches. Errors: kFailedPrecondition (there is no state in memory),
  /// kResourceExhausted, kInvalidArgument (the setting).
  Result<TrialRun> fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed = {}) const;
  /// The search before this epoch is over. `winner`, a fork of this run, is what it goes on from, under that setting;
  /// null: from where it stands, as before.
  void record_search(std::vector<study::Branch> branches, TrialRun* winner);
  /// Where an epoch begins: goes on with the batch that its gradient noise asks for, and with the rate that goes with
  /// it (data.batch: adaptive). Told as a branch of no steps whose trend is study::kAdapted and whose speed is the
  /// goodput expected, by that of the batch at hand. LaneGroup calls it; nothing happens where there is nothing to do.
  void adapt_batch();
  /// What it knows of its gradient noise; none: its batch is no matter of that.
  const std::optional<BatchAdapter>& adapter() const { return adapter_; }
  /// Whether its start is to race before its first step (start_race.h). What came of it is told by record_start_race.
  bool is_start_race_due() const;
  std::int64_t num_start_candidates() const { return std::ssize(alternative_starts_) + 1; }
  std::int64_t race_steps() const { return race_steps_; }
  /// Itself as it would begin: 0 with its start, beyond that with a rival's. It measures and keeps nothing. Errors:
  /// kFailedPrecondition (there is no state in memory, a rival's weights are not here), kResourceExhausted.
  Result<TrialRun> start_candidate(std::int64_t number) const;
  /// The race is over. `winner`, the racer that is kept, is what it goes on from; null: with its start, from its
  /// beginning.
  void record_start_race(std::vector<study::StartCandidate> race, TrialRun* winner);
  /// Whether it is to ask before this epoch if chosen examples are worth more than all (train.select: auto;
  /// select_check.h). What came of it is told by record_select_check.
  bool is_select_check_due() const;
  const std::optional<data::SelectionComparison>& selection_comparison() const { return definition_->selection_comparison; }
  /// Itself once more, training on chosen examples from here on or on all: its state is a copy, and it measures and
  /// keeps nothing. Errors: kFailedPrecondition (there is no state in memory), kResourceExhausted.
  Result<TrialRun> select_branch(bool selects) const;
  /// What the passes of this copy of a run have cost since it was made, by its guard.
  double select_cost() const;
  /// The check is over. `winner`, one of the two copies, is what it goes on from; null: from where it stands, as
  /// before.
  void record_select_check(std::vector<study::SelectBranch> branches, TrialRun* winner);
  /// The rules of its searches; none: it never searches.
  const std::optional<study::TuneRules>& tune_rules() const { return definition_->tune_rules; }
  /// What its next step reads of its recipe: as the trial began, or the setting that it has come to.
  const study::StepSettings& setting() const { return setting_at(step_); }
  study::Recipe recipe() const;  ///< with its present setting
  std::uint64_t trial_seed() const { return input().trial_seed; }
  std::uint64_t data_seed() const { return data_seed_; }
  /// Steps to the end of the epoch.
  std::int64_t steps_left() const { return epochs().steps_through(epochs().epochs_completed(step_) + 1) - step_; }
  /// Steps of the update that is next: so many batches of the size that the trial began with, whose rows it reads at
  /// once. 1, unless the trial has come to a larger batch (train.tune); fewer than that where an epoch or a pass ends,
  /// or another setting begins. Everything else that is told in steps stays as it is with the first batch.
  std::int64_t steps_in_next_update() const { return std::min(steps_per_full_update(), steps_left_in_chunk()); }
  /// Rows of the update that is next.
  std::int64_t rows_in_next_update() const;
  double loss_sum() const { return loss_sum_; }  ///< of the epoch in progress, over its rows so far
  /// Searches so far, and the tries of the last one.
  std::pair<std::int64_t, std::int64_t> search_counts() const;

  TrialId trial() const { return input().trial; }
  const Digest& key() const { return definition_->key; }
  std::int64_t steps_per_epoch() const { return epochs().length; }
  std::int64_t step_count() const { return step_; }  ///< steps done, those that a branch has from its parent included
  std::int64_t epochs_done() const { return static_cast<std::int64_t>(measurements_.size()); }  ///< each measured
  const std::vector<study::Measurement>& measurements() const { return measurements_; }

  /// What it would go on from, and what it stands for; a seated state is copied out and stays. Of a run that no group
  /// has seen yet: nothing, and no tensors. Not of a released run.
  TrainerState save() const;
  /// The inverse of save. Errors: kDataLoss naming what is missing or does not fit, or whose state it is, if it is not
  /// this trial's; then the run is as before. Of a run without state, tensors are looked at when a group admits it.
  Result<void> restore(TrainerState state);
  /// Has it tensors in memory, its own or a machine's?
  bool holds_state() const { return is_admitted() || restored_.has_value(); }
  /// Has a group admitted it, so that there is nothing to be made before it goes on?
  bool is_admitted() const { return static_cast<bool>(state_); }
  /// Its state comes home if it is seated.
  void release_lane() { state_.release_lane(); }
  /// Gives their memory back. If steps were done, nobody admits the run before it gets what save() gave.
  void release();

 private:
  friend class LaneGroup;
  /// What a trial is, made once: nothing changes it, so copies of a run share it, however large it is.
  struct TrialDefinition {
    TrainerInput input;  // what of it a run has of its own is in the run: data_seed_, start_, rivals_, race_steps_
    data::Augmenter augmenter;
    Digest key;
    std::string augment_text;
    study::EpochSchedule epochs;
    std::optional<data::SelectionComparison> selection_comparison;
    std::optional<study::TuneRules> tune_rules;
  };
  explicit TrialRun(std::shared_ptr<const TrialDefinition> terms);  // at its beginning, with nothing of its own

  const TrainerInput& input() const { return definition_->input; }
  const study::EpochSchedule& epochs() const { return definition_->epochs; }
  const std::vector<std::int64_t>& train_rows() const { return input().data->rows(data::Part::kTrain); }
  nn::LaneHyper hyper(std::int64_t ahead) const;  // of the update that comes after so many others
  const study::StepSettings& setting_at(std::int64_t step) const;
  Result<void> add_setting(std::int64_t step, const space::Sample& setting);
  static Result<std::optional<study::TuneRules>> tune_rules_of(const study::Recipe& recipe);  // none: it does not search
  Result<void> initialise_settings();  // those that stand before anything was trained
  Result<void> restore_settings(const std::map<std::string, std::string>& facts,
                                std::span<const study::Measurement> measurements);
  TrialRun copy_without_state() const;       // a run at its place, without a state
  Result<TrialRun> copy_with_state() const;  // with a copy of its state; errors: kResourceExhausted
  Result<void> restore_race(const std::map<std::string, std::string>& facts,
                            std::span<const study::Measurement> measurements);
  Result<std::vector<study::SelectionChange>> read_selection_changes(const std::map<std::string, std::string>& facts,
                                                         std::span<const study::Measurement> measurements,
                                                         std::optional<std::vector<study::SelectBranch>>& before) const;
  void apply_race_winner(std::span<const study::StartCandidate> race);  // of the racer that was kept
  /// Batches that renew running statistics before the epoch at hand is measured.
  std::int64_t recalibration() const;
  std::int64_t steps_left_in_chunk() const;  // of its epoch, of its pass over the rows, and of its setting
  std::int64_t steps_per_full_update() const { return setting().batch / input().recipe.batch; }
  std::int64_t updates_left_in_chunk() const { return (steps_left_in_chunk() + steps_per_full_update() - 1) / steps_per_full_update(); }
  std::int64_t steps_of(std::int64_t updates) const { return std::min(updates * steps_per_full_update(), steps_left_in_chunk()); }
  std::map<std::string, std::string> facts() const;
  /// Makes the state: of what was restored, or of its start, or fresh if no step was done. Errors: kResourceExhausted,
  /// kDataLoss, kInvalidArgument (its start does not fit), kInternal (steps were done and there is nothing to go on
  /// from).
  Result<void> prepare_state(const nn::Program& program);
  Result<void> apply_start_weights(nn::LaneState& fresh) const;
  std::string missing_state_message() const;
  std::int64_t pass() const { return epochs().pass(step_); }  // over the rows, that it is in
  bool is_noise_measured_next() const;                               ///< in its next update
  std::int64_t updates_before_noise_measurement() const;
  void record_gradient_noise(double small_square, double square);  ///< of its next update, which is done but not counted
  std::vector<nn::LrRange> lr_ranges_of(const nn::StateLayout& layout) const;
  std::vector<double> lane_attr_values_of(std::span<const nn::LaneAttr> wanted) const;
  bool shares_batch_with(const TrialRun& other) const;  ///< the same rows in its next update
  void begin_pass(std::span<TrialRun* const> others);
  std::span<const std::int64_t> rows(std::int64_t ahead) const;  // that update reads, in the pass at hand
  DataPosition data_position() const;                                  // of the step that is next
  bool count_steps(const nn::LaneResult& end);                      // true at the end of an epoch
  void record_measurement(std::map<std::string, double> metrics);     // at the end of an epoch; throws: nothing is noted

  std::shared_ptr<const TrialDefinition> definition_;
  std::uint64_t data_seed_ = 0;
  std::shared_ptr<const StartWeights> start_;  // until it has begun
  std::int64_t race_steps_ = 0;
  std::vector<AlternativeStartWeights> alternative_starts_;
  std::int64_t recalibrate_ = 0;          // batches before its first epoch is measured
  std::vector<double> lane_attr_values_;           // of its model, in the order in which programs of its key ask for them
  std::vector<nn::LrRange> lr_ranges_;      // of its parts, as programs of its key lay them out
  RunState state_;                        // none: not begun, not settled, or released
  std::optional<TrainerState> restored_;  // its tensors, until it is settled
  std::shared_ptr<const std::vector<std::int64_t>> order_;  // of the pass in progress
  std::shared_ptr<const data::PreparedEpoch> prepared_;     // of the pass in progress, if others read it too
  std::int64_t order_pass_ = -1;
  std::int64_t step_ = 0;
  std::int64_t branched_at_ = 0;  // the parent's step when this branch was made; 0: no branch
  double loss_sum_ = 0;           // of the epoch in progress, weighted by batch size
  std::vector<study::Measurement> measurements_;
  BestEpochWeights best_epoch_;
  Selection selection_;
  std::int64_t rows_trained_before_copy_ = 0;  // of a copy of a run: rows of its epoch that were trained on when it was made
  std::optional<std::vector<study::SelectBranch>> select_check_;  // before the epoch in progress; none: it has not asked
  std::optional<BatchAdapter> adapter_;
  std::vector<std::pair<std::int64_t, study::StepSettings>> settings_;  // from which step on; the first: from 0
  std::optional<std::vector<study::StartCandidate>> start_race_;                // before the first epoch, while it is in progress
  std::optional<std::vector<study::Branch>> search_branches_;  // before the epoch in progress; none: it has not been looked
};

}  // namespace lanista::train
