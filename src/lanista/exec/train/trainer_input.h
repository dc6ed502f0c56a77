#pragma once

#include <cstdint>
#include <memory>
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
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/space/domain.h"
#include "lanista/search/study/config.h"
#include "lanista/search/study/epoch_selection.h"
#include "lanista/search/study/metric.h"

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

}  // namespace lanista::train
