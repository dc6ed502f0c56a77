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
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/batch_adapter.h"
#include "lanista/exec/train/best_epoch_weights.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/exec/train/lane_slots.h"
#include "lanista/exec/train/selection.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"
#include "lanista/io/data/selection_comparison.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/study/trial.h"
#include "lanista/search/tuning/tuner.h"

namespace lanista::train {

/// An alternative of a start race: the same trial with other weights and another factor of its learning rate.
struct AlternativeStartWeights {
  std::shared_ptr<const StartWeights> weights;  ///< null: random values
  double ease = 1;                              ///< study::Recipe::ease
  std::int64_t recalibrate = 0;                 ///< study::Recipe::recalibrate
};

/// All that determines the numbers of a trial, and the shared objects that it uses.
struct TrainerInput {
  TrialId trial;
  graph::Graph model;
  study::Recipe recipe;
  std::vector<std::string> metrics;  ///< Empty: accuracy for classes, mae for numbers.
  std::uint64_t trial_seed = 0;
  std::uint64_t data_seed = 0;
  const data::Dataset* data = nullptr;                      ///< Outlives the trainer.
  const graph::OpTable* step_ops = nullptr;                 ///< Result of step::training_ops; outlives the trainer.
  const nn::Operators* operators = nullptr;                 ///< Caller's operators, read while creating; may be null.
  const std::vector<study::Metric>* own_metrics = nullptr;  ///< Caller's metrics; may be null. Outlives the trainer.
  MemoryBudget* budget = nullptr;                           ///< May be null.
  data::EpochCache* epochs = nullptr;                       ///< Prepared epochs of `data`, shared; may be null.
  std::shared_ptr<const StartWeights> start = nullptr;      ///< Null: random values.
  std::int64_t race_steps = 0;                              ///< Steps of the start race. 0: no race.
  std::vector<AlternativeStartWeights> alternative_starts = {};
  const nn::Backend* backend = &nn::cpu_backend();
  study::SelectionRule keep = {};  ///< Rule for the selected epoch. Default: the last.
  space::Sample known = {};        ///< Values for the rule: hyper-parameters, params and flops.
};

/// Reads the measurements in the facts of a state. Errors: kDataLoss.
Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts);

/// Returns the evaluation of this trial; its loss and metrics must suit its data.
Evaluation evaluation_of(const TrainerInput& input);
/// Returns the options of a program with one lane for this trial.
nn::ProgramOptions program_options_of(const TrainerInput& input);
/// Checks that loss and metrics suit the data. Errors: kInvalidArgument.
Result<void> check_metrics(const TrainerInput& input);
/// Checks that a program's predictions have the size that the data needs. Errors: kInvalidArgument.
Result<void> check_predictions(const nn::Program& program, const data::DataSpec& spec);

/// Returns a digest that is equal for trials that may be lanes of one executable: those with one study::program_key on
/// one backend.
Digest lane_group_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops,
                      const nn::Backend& backend);

/// One trial in training: its data position, its measurements and its state.
///
/// It trains in the lanes of any groups with its key (LaneGroup), and its numbers depend on its input only. After
/// training its state stays in a lane (RunState). One thread at a time. While the state is in a lane, that is the
/// thread of the group, except for counters, measurements and holds_state().
class TrialRun {
 public:
  /// Returns the trial at its beginning, without a state. Errors: kInvalidArgument (loss, metrics or augmentation do
  /// not suit the data).
  static Result<TrialRun> create(const TrainerInput& input);

  /// Returns another trial that continues from the state of this run.
  ///
  /// Parameters, buffers, slots, steps, data position and the sums of the current epoch are the parent's. Name, seed,
  /// recipe, epochs and measurements are the child's. So its learning rate is that of its own recipe at the parent's
  /// step. If both select examples by the same rule, it also has the parent's queue and memory of losses. The parent is
  /// unchanged. Errors: kInvalidArgument (another program, other data, another begin of the current epoch, or a start
  /// of its own), kFailedPrecondition (the parent has no state in memory), kResourceExhausted.
  Result<TrialRun> branch(const TrainerInput& child) const;

  /// Whether a tune search is due (train.tune): an epoch begins, and the rules require it. record_search() ends it.
  bool is_search_due() const;
  /// Returns a copy of this run that tries a setting from here on. It has a copy of the state, and neither measures nor
  /// keeps weights. With `data_seed` it reads other mini-batches. Errors: kFailedPrecondition (no state in memory),
  /// kResourceExhausted, kInvalidArgument (the setting).
  Result<TrialRun> fork(const space::Sample& setting, std::optional<std::uint64_t> data_seed = {}) const;
  /// Ends the search before this epoch. The run continues from `winner`, a fork of it, under its setting; null: from
  /// its own state.
  void record_search(std::vector<study::Branch> branches, TrialRun* winner);
  /// Changes batch and learning rate at the begin of an epoch, as the gradient noise requires (data.batch: adaptive).
  ///
  /// A change is recorded as a branch without steps, with trend study::kAdapted. Its speed is the expected goodput /
  /// goodput of the current batch. LaneGroup calls this; without a change it does nothing.
  void adapt_batch();
  /// The gradient noise of the run; none if its batch is not adaptive.
  const std::optional<BatchAdapter>& adapter() const { return adapter_; }
  /// Whether a start race is due before the first step (start_race.h). record_start_race() ends it.
  bool is_start_race_due() const;
  /// Number of start candidates: the start and its alternatives.
  std::int64_t num_start_candidates() const { return std::ssize(alternative_starts_) + 1; }
  /// Steps of the start race; 0: no race.
  std::int64_t race_steps() const { return race_steps_; }
  /// Returns a copy of this run with start candidate `number`: 0 is its start, then the alternatives. It neither
  /// measures nor keeps weights. Errors: kFailedPrecondition (no state in memory, or missing weights),
  /// kResourceExhausted.
  Result<TrialRun> start_candidate(std::int64_t number) const;
  /// Ends the race. The run continues from `winner`, a start candidate; null: from its start, at its beginning.
  void record_start_race(std::vector<study::StartCandidate> race, TrialRun* winner);
  /// Whether a selection comparison is due before this epoch (train.select: auto; select_check.h).
  /// record_select_check() ends it.
  bool is_select_check_due() const;
  /// The rules of the selection comparison; none: there is no comparison.
  const std::optional<data::SelectionComparison>& selection_comparison() const {
    return definition_->selection_comparison;
  }
  /// Returns a copy of this run that trains on selected examples or on all. It has a copy of the state, and neither
  /// measures nor keeps weights. Errors: kFailedPrecondition (no state in memory), kResourceExhausted.
  Result<TrialRun> select_branch(bool selects) const;
  /// The cost of the passes of this copy since it was made, by the rules of the comparison.
  double select_cost() const;
  /// Ends the comparison. The run continues from `winner`, one of the two copies; null: from its own state.
  void record_select_check(std::vector<study::SelectBranch> branches, TrialRun* winner);
  /// The rules of its tune searches; none: it never searches.
  const std::optional<study::TuneRules>& tune_rules() const { return definition_->tune_rules; }
  /// The setting of the next step: the recipe's, or the one that a search or the adaptive batch has set.
  const study::StepSettings& setting() const { return setting_at(step_); }
  study::Recipe recipe() const;  ///< the recipe with the current setting
  std::uint64_t trial_seed() const { return input().trial_seed; }
  std::uint64_t data_seed() const { return data_seed_; }
  /// Steps to the end of the epoch.
  std::int64_t steps_left() const { return epochs().steps_through(epochs().epochs_completed(step_) + 1) - step_; }
  /// Steps of the next update. A step is a batch of the first size, so with a larger batch an update is several steps.
  ///
  /// It is 1 unless the trial has a larger batch now, and smaller where an epoch, a pass or a setting ends.
  std::int64_t steps_in_next_update() const { return std::min(steps_per_full_update(), steps_left_in_chunk()); }
  /// Rows of the next update.
  std::int64_t rows_in_next_update() const;
  double loss_sum() const { return loss_sum_; }  ///< sum of losses over the rows of the current epoch so far
  /// Number of searches so far, and number of tries of the last one.
  std::pair<std::int64_t, std::int64_t> search_counts() const;

  TrialId trial() const { return input().trial; }
  /// The lane_group_key of the trial.
  const Digest& key() const { return definition_->key; }
  std::int64_t steps_per_epoch() const { return epochs().length; }
  std::int64_t step_count() const { return step_; }  ///< steps done, including those of a branch's parent
  std::int64_t epochs_done() const { return static_cast<std::int64_t>(measurements_.size()); }  ///< each measured
  const std::vector<study::Measurement>& measurements() const { return measurements_; }

  /// Returns the state from which the run resumes, and its selected weights. A state in a lane is copied and stays.
  /// Without tensors if no group has admitted the run yet. Not for a released run.
  TrainerState save() const;
  /// Restores the result of save. Errors: kDataLoss, naming what is missing or does not fit, or the trial that owns the
  /// state; then the run is unchanged. The tensors of a run without state are checked at the next admission.
  Result<void> restore(TrainerState state);
  /// Whether its tensors are in memory, on the host or in a lane.
  bool holds_state() const { return is_admitted() || restored_.has_value(); }
  /// Whether a group has admitted it, so that it can train at once.
  bool is_admitted() const { return static_cast<bool>(state_); }
  /// Moves its state from a lane to host memory.
  void release_lane() { state_.release_lane(); }
  /// Frees the memory of its tensors. If it has done steps, it needs restore() with the result of save() to continue.
  void release();

 private:
  friend class LaneGroup;
  /// The fixed facts of a trial. Copies of a run share them, however large they are.
  struct TrialDefinition {
    TrainerInput input;  // without the run's own data_seed_, start_, alternative_starts_ and race_steps_
    data::Augmenter augmenter;
    Digest key;
    std::string augment_text;
    study::EpochSchedule epochs;
    std::optional<data::SelectionComparison> selection_comparison;
    std::optional<study::TuneRules> tune_rules;
  };
  explicit TrialRun(std::shared_ptr<const TrialDefinition> terms);  // at its beginning

  const TrainerInput& input() const { return definition_->input; }
  const study::EpochSchedule& epochs() const { return definition_->epochs; }
  const std::vector<std::int64_t>& train_rows() const { return input().data->rows(data::Part::kTrain); }
  nn::LaneHyper hyper(std::int64_t ahead) const;  // of the update that is `ahead` updates after the next
  const study::StepSettings& setting_at(std::int64_t step) const;
  Result<void> add_setting(std::int64_t step, const space::Sample& setting);
  static Result<std::optional<study::TuneRules>> tune_rules_of(const study::Recipe& recipe);  // none: no search
  Result<void> initialise_settings();  // those before the first step
  Result<void> restore_settings(const std::map<std::string, std::string>& facts,
                                std::span<const study::Measurement> measurements);
  TrialRun copy_without_state() const;       // at the same position
  Result<TrialRun> copy_with_state() const;  // errors: kResourceExhausted
  Result<void> restore_race(const std::map<std::string, std::string>& facts,
                            std::span<const study::Measurement> measurements);
  Result<std::vector<study::SelectionChange>> read_selection_changes(
      const std::map<std::string, std::string>& facts, std::span<const study::Measurement> measurements,
      std::optional<std::vector<study::SelectBranch>>& before) const;
  void apply_race_winner(std::span<const study::StartCandidate> race);  // takes over the settings of the winner
  /// Batches that renew running statistics before the current epoch is measured.
  std::int64_t recalibration() const;
  std::int64_t steps_left_in_chunk() const;  // of the epoch, of the pass over the rows, and of the setting
  std::int64_t steps_per_full_update() const { return setting().batch / input().recipe.batch; }
  std::int64_t updates_left_in_chunk() const {
    return (steps_left_in_chunk() + steps_per_full_update() - 1) / steps_per_full_update();
  }
  std::int64_t steps_of(std::int64_t updates) const {
    return std::min(updates * steps_per_full_update(), steps_left_in_chunk());
  }
  std::map<std::string, std::string> facts() const;
  /// Makes the state: from the restored tensors, from the start, or fresh if no step was done. Errors:
  /// kResourceExhausted, kDataLoss, kInvalidArgument (the start does not fit), kInternal (steps were done, but there is
  /// no state).
  Result<void> prepare_state(const nn::Program& program);
  Result<void> apply_start_weights(nn::LaneState& fresh) const;
  std::string missing_state_message() const;
  std::int64_t pass() const { return epochs().pass(step_); }  // current pass over the rows
  bool is_noise_measured_next() const;                        ///< whether the next update is measured
  std::int64_t updates_before_noise_measurement() const;
  void record_gradient_noise(double small_square, double square);  ///< of the next update, done but not counted
  std::vector<nn::LrRange> lr_ranges_of(const nn::StateLayout& layout) const;
  std::vector<double> lane_attr_values_of(std::span<const nn::LaneAttr> wanted) const;
  bool shares_batch_with(const TrialRun& other) const;  ///< whether the next updates read the same rows
  void begin_pass(std::span<TrialRun* const> others);
  std::span<const std::int64_t> rows(std::int64_t ahead) const;    // of that update, in the current pass
  DataPosition data_position() const;                              // of the next step
  bool count_steps(const nn::LaneResult& end);                     // true at the end of an epoch
  void record_measurement(std::map<std::string, double> metrics);  // at the end of an epoch; if it throws, no change

  std::shared_ptr<const TrialDefinition> definition_;
  std::uint64_t data_seed_ = 0;
  std::shared_ptr<const StartWeights> start_;  // until the first step
  std::int64_t race_steps_ = 0;
  std::vector<AlternativeStartWeights> alternative_starts_;
  std::int64_t recalibrate_ = 0;                            // Batches before the first epoch is measured.
  std::vector<double> lane_attr_values_;                    // Of its model, in the order of programs of its key.
  std::vector<nn::LrRange> lr_ranges_;                      // In the layout of programs of its key.
  RunState state_;                                          // None: not admitted, or released.
  std::optional<TrainerState> restored_;                    // Until it is admitted.
  std::shared_ptr<const std::vector<std::int64_t>> order_;  // Of the current pass.
  std::shared_ptr<const data::PreparedEpoch> prepared_;     // Of the current pass, if other runs read it too.
  std::int64_t order_pass_ = -1;
  std::int64_t step_ = 0;
  std::int64_t branched_at_ = 0;  // the parent's step when this branch was made; 0: no branch
  double loss_sum_ = 0;           // of the current epoch, weighted by batch size
  std::vector<study::Measurement> measurements_;
  BestEpochWeights best_epoch_;
  Selection selection_;
  std::int64_t rows_trained_before_copy_ = 0;  // of a copy: trained rows of its epoch when it was made
  std::optional<std::vector<study::SelectBranch>> select_check_;  // before the current epoch; none: not yet compared
  std::optional<BatchAdapter> adapter_;
  std::vector<std::pair<std::int64_t, study::StepSettings>> settings_;  // from which step on; the first: from 0
  std::optional<std::vector<study::StartCandidate>> start_race_;        // during the first epoch
  std::optional<std::vector<study::Branch>> search_branches_;           // before the current epoch; none: not searched
};

}  // namespace lanista::train
