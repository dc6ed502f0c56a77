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
#include "lanista/data/dataset.h"
#include "lanista/data/epoch_cache.h"
#include "lanista/graph/graph.h"
#include "lanista/graph/op.h"
#include "lanista/kernels/kernels.h"
#include "lanista/nn/opaque.h"
#include "lanista/nn/program.h"
#include "lanista/study/config.h"
#include "lanista/study/trial.h"

namespace lanista::train {

/// What fixes a trial's numbers, and the shared things it works with.
struct TrainerInput {
  TrialId trial;
  graph::Graph model;
  study::Recipe recipe;
  std::vector<std::string> metrics;  ///< empty: accuracy for classes, mae for numbers
  std::uint64_t trial_seed = 0;
  std::uint64_t data_seed = 0;
  const data::Dataset* data = nullptr;       ///< outlives the trainer
  const graph::OpTable* step_ops = nullptr;  ///< step::training_ops; outlives the trainer
  const nn::Operators* operators = nullptr;  ///< beyond those shipped, read while creating; may be null
  MemoryBudget* budget = nullptr;            ///< may be null
  data::EpochCache* epochs = nullptr;        ///< of `data`, shared with other trials; may be null
  kernels::Isa isa = kernels::best_isa();
};

/// Tensors and facts from which a trial goes on exactly where it stood.
struct TrainerState {
  std::vector<Tensor> tensors;
  std::map<std::string, std::string> facts;  ///< "epoch", "step", "loss_sum", "measurements"
};

/// The measurements a state carries. Errors: kDataLoss.
Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts);

/// Equal for trials that can be lanes of one program: models with the same nodes under the same ids, but for numbers
/// that a lane sets for itself (dropout's p, the momentum of batch norm), the same loss, optimiser, batch size and
/// precision. Rates, decays, smoothing, seeds, schedules, augmentation are a lane's own. `ops` holds the models'
/// operators.
Digest program_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops);

/// One trial in training: where it is in the data, what was measured, and its state. It is trained in the lanes of
/// groups of its program key (LaneGroup), in any of them at any step: its numbers are a function of its input alone.
/// One thread at a time.
class TrialRun {
 public:
  /// At its beginning, without a state as yet. Errors: kInvalidArgument (loss, metrics or augmentation do not fit the
  /// data).
  static Result<TrialRun> create(const TrainerInput& input);

  TrialId trial() const { return input_.trial; }
  const Digest& key() const { return key_; }
  std::int64_t steps_per_epoch() const;
  std::int64_t step_count() const { return step_; }                                             ///< steps done
  std::int64_t epochs_done() const { return static_cast<std::int64_t>(measurements_.size()); }  ///< each measured
  const std::vector<study::Measurement>& measurements() const { return measurements_; }

  /// What it would go on from. Of a run that no group has seen yet: nothing, and no tensors. Not of a released run.
  TrainerState save() const;
  /// The inverse of save. Errors: kDataLoss naming what is missing or does not fit; then the run is as before. Of a
  /// run without state, tensors are looked at when a group admits it.
  Result<void> restore(TrainerState state);
  /// Has it tensors in memory?
  bool holds_state() const { return static_cast<bool>(state_) || restored_.has_value(); }
  /// Gives their memory back. If steps were done, nobody admits the run before it gets what save() gave.
  void release();

 private:
  friend class LaneGroup;
  TrialRun(const TrainerInput& input, data::Augmenter augmenter);

  const std::vector<std::int64_t>& train_rows() const { return input_.data->rows(data::Part::kTrain); }
  nn::LaneHyper hyper() const;
  std::map<std::string, std::string> facts() const;
  /// Makes the state: of what was restored, or fresh if no step was done. Errors: kResourceExhausted, kDataLoss,
  /// kInternal (steps were done and there is nothing to go on from).
  Result<void> settle(const nn::Program& program);
  std::string without_state() const;
  std::int64_t epoch() const { return step_ / steps_per_epoch(); }
  std::vector<double> own_numbers(std::span<const nn::LaneNumber> wanted) const;
  bool reads_with(const TrialRun& other) const;  ///< the same batch in its next step
  void begin_epoch(std::span<TrialRun* const> others);
  std::span<const std::int64_t> next_rows() const;
  bool count_step(double loss, std::size_t samples);  ///< true at the end of an epoch

  TrainerInput input_;
  data::Augmenter augmenter_;
  Digest key_;
  std::string augment_text_;
  std::vector<double> numbers_;           // of its model, in the order in which programs of its key ask for them
  nn::LaneState state_;                   // none: not begun, not settled, released, or in a lane
  std::optional<TrainerState> restored_;  // its tensors, until it is settled
  std::shared_ptr<const std::vector<std::int64_t>> order_;  // of the epoch in progress
  std::shared_ptr<const data::PreparedEpoch> prepared_;     // of the epoch in progress, if others read it too
  std::int64_t order_epoch_ = -1;
  std::int64_t step_ = 0;
  double loss_sum_ = 0;  // of the epoch in progress, weighted by batch size
  std::vector<study::Measurement> measurements_;
};

}  // namespace lanista::train
