// Checks of counts, names, and settings that exclude each other.
#include "lanista/engine/core/check_config.h"

#include <algorithm>
#include <string>

#include "lanista/base/edit_distance.h"
#include "lanista/ipc/remote_launcher.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/epoch_schedule.h"
#include "lanista/search/tuning/adaptive_batch_rules.h"

namespace lanista::engine {
namespace {

/// Checks epochs that read a growing share of the rows.
Result<void> check_growing(const study::TrainConfig& train) {
  if (!train.length.all_rows_at) return {};
  const std::string at = "is " + std::to_string(*train.length.all_rows_at);
  const auto refused = [](const std::string& what) -> Result<void> {
    return Error{Code::kInvalidArgument, what, "train.all_rows_at"};
  };
  if (*train.length.all_rows_at < 1 || *train.length.all_rows_at > train.length.epochs) {
    return refused(at + "; it must be at least 1 and at most the " + std::to_string(train.length.epochs) +
                   " epochs of a trial, so that one that trains to its end reads all rows");
  }
  if (*train.length.all_rows_at == 1) return {};
  if (train.length.steps || train.length.steps_per_epoch) {
    return refused(at + ", and an epoch is then a pass over a share of the rows; leave out train." +
                   (train.length.steps ? "steps" : "steps_per_epoch"));
  }
  if (!train.select.name.empty()) {
    return refused(at + ", and train.select remembers what all rows have lost; leave out one of the two");
  }
  return {};
}

/// Checks the settings that need a start.
Result<void> check_start(const study::TrainConfig& train) {
  const bool off = train.start.from == study::kStartOff;
  const auto refused = [](const char* key, const std::string& what) -> Result<void> {
    return Error{Code::kInvalidArgument, what, key};
  };
  if (train.start.recalibrate < 0 || train.start.recalibrate > study::kMaxStartBatches) {
    return refused("train.start_recalibrate", "is " + std::to_string(train.start.recalibrate) + "; it must be 0 to " +
                                                  std::to_string(study::kMaxStartBatches));
  }
  if (train.start.recalibrate > 0 && off) {
    return refused("train.start_recalibrate", "is " + std::to_string(train.start.recalibrate) +
                                                  ", and train.start is off; allowed there: parent, study, zoo, file");
  }
  if (train.start.optimizer == study::kCarryOptimizer && (off || train.start.from == study::kStartFile)) {
    return refused("train.start_optimizer", "is 'carry', and train.start is " + train.start.from +
                                                "; it needs parent, study or zoo: a file has no optimizer state");
  }
  if (train.start.shrink == study::kShrinkByLoss && (off || train.start.from == study::kStartFile)) {
    return refused("train.start_shrink",
                   "is 'loss', and train.start is " + train.start.from +
                       "; it needs parent, study or zoo, because it scores the parent on these data");
  }
  return {};
}

}  // namespace

Result<void> check_config(const study::StudyConfig& config) {
  const auto at_least = [](const char* key, std::int64_t value, std::int64_t least) -> Result<void> {
    if (value >= least) return {};
    return Error{Code::kInvalidArgument,
                 "is " + std::to_string(value) + "; it must be at least " + std::to_string(least), key};
  };
  LANISTA_TRY(at_least("strategy.slots", config.strategy.slots, 1));
  LANISTA_TRY(at_least("train.epochs", config.train.length.epochs, 1));
  LANISTA_TRY(at_least("train.steps_per_epoch", config.train.length.steps_per_epoch.value_or(1), 1));
  LANISTA_TRY(at_least("train.steps", config.train.length.steps.value_or(1), 1));
  LANISTA_TRY(check_growing(config.train));
  study::TrainConfig settled = config.train;
  LANISTA_TRY(study::resolve_epochs(settled));
  if (config.train.length.steps &&
      (!settled.length.steps_per_epoch || settled.length.epochs != config.train.length.epochs)) {
    return Error{Code::kInvalidArgument,
                 "are " + std::to_string(*config.train.length.steps) +
                     ", and are not converted to epochs (resolve_from_data does it)",
                 "train.steps"};
  }
  LANISTA_TRY(at_least("data.batch", config.data.batch, 1));
  LANISTA_TRY(at_least("data.folds", config.data.folds.value_or(2), 2));
  const std::string& start = config.train.start.from;
  if (config.data.folds && (start == study::kStartParent || start == study::kStartStudy || start == study::kStartZoo)) {
    return Error{Code::kInvalidArgument,
                 "is '" + start + "'; with data.folds a parent may have trained on rows that its child is measured on",
                 "train.start"};
  }
  if (start == study::kStartZoo && config.train.start.zoo.empty()) {
    return Error{Code::kInvalidArgument, "names no folder", "train.zoo"};
  }
  LANISTA_TRY(check_start(config.train));
  if (config.run.width > 1 && config.run.pipeline != 1) {
    return Error{Code::kInvalidArgument,
                 "workers share a trial's steps by the shards of its batch or by its operators, not by both; leave out "
                 "run.width, or run.pipeline",
                 "run.width"};
  }
  LANISTA_TRY(check_cluster(config.cluster));
  if (config.run.width != 1 && !config.cluster.is_here()) {
    return Error{Code::kInvalidArgument,
                 "workers that share a trial's steps are on one machine; leave out run.width, or cluster", "run.width"};
  }
  LANISTA_TRY(at_least("budget.trials", config.budget.trials.value_or(1), 1));
  if (auto idle = search::idle_stopping_rule(config)) return *std::move(idle);
  if (config.goals.empty()) return Error{Code::kInvalidArgument, "a study needs a goal", "goal"};
  for (const space::Parameter& parameter : config.space.params.parameters()) {
    const auto& known = study::sample_names();
    if (std::find(known.begin(), known.end(), parameter.name) != known.end()) continue;
    const std::string near = nearest_name(parameter.name, known);
    return Error{
        Code::kInvalidArgument,
        "'" + parameter.name + "' is nothing a trial can vary" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
        "space.params"};
  }
  return {};
}

}  // namespace lanista::engine
