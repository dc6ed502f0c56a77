#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanista/base/digest.h"
#include "lanista/base/id.h"
#include "lanista/base/memory_budget.h"
#include "lanista/base/result.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/epoch_cache.h"
#include "lanista/io/data/selector.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/metric.h"

namespace lanista::train {

/// All that determines the numbers of a trial, and the shared objects that it uses.
struct TrainerInput {
  TrialId trial;         ///< Id of the trial.
  graph::Graph model;    ///< The whole model.
  study::Recipe recipe;  ///< Settings of the training.
  /// Names of the metrics to measure; empty: accuracy for classes and labels, mae for numbers.
  std::vector<std::string> metrics;
  std::uint64_t trial_seed = 0;         ///< Seed of initial values and dropout masks.
  std::uint64_t data_seed = 0;          ///< Seed of the order of rows and of augmentation.
  const data::Dataset* data = nullptr;  ///< Data set, which outlives the trainer; never null.
  const graph::OpTable* step_ops =
      nullptr;  ///< Result of autodiff::training_ops, which outlives the trainer; never null.
  const program::Operators* operators = nullptr;  ///< Caller's operators, read while creating; null: the shipped ones.
  /// Caller's metrics, which outlive the trainer; may be null.
  const std::vector<study::Metric>* own_metrics = nullptr;
  MemoryBudget* budget = nullptr;      ///< Budget of tensor memory; null: no limit.
  data::EpochCache* epochs = nullptr;  ///< Prepared epochs of `data`, shared with other trials; may be null.
  std::shared_ptr<const StartWeights> start = nullptr;        ///< First weights; null: random values.
  const program::Backend* backend = &program::cpu_backend();  ///< Backend that compiles the program; never null.
  study::SelectionRule keep = {};  ///< Rule that selects the epoch of the result; default: the last.
  space::Sample known = {};        ///< Known values for the rule: hyper-parameters, params and flops.
  /// Selectors that train.select may name. They must outlive the trainer.
  std::span<const data::SelectorPlugin> selectors = data::builtin_selectors();
};

/// Returns the evaluation of this trial. The loss and metrics must suit the data (check_metrics).
Evaluation evaluation_of(const TrainerInput& input);
/// Returns the options of a program with one lane for this trial.
program::ProgramOptions program_options_of(const TrainerInput& input);
/// Checks that the loss and the metrics exist and suit the targets of the data. Errors: kInvalidArgument, naming the
/// one that does not.
Result<void> check_metrics(const TrainerInput& input);
/// Checks that one prediction of the program has as many numbers as the data needs. Errors: kInvalidArgument, with both
/// numbers.
Result<void> check_predictions(const program::Program& program, const data::DataSpec& spec);

/// Returns a digest that is equal for trials that may be lanes of one executable: those with equal study::program_key
/// and equal backend name.
Digest lane_group_key(const graph::Graph& model, const study::Recipe& recipe, const graph::OpTable& ops,
                      const program::Backend& backend);

}  // namespace lanista::train
