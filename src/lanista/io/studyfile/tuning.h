#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/search/study/config.h"
#include "lanista/search/tuning/tuner.h"

// The settings of a study for trials that change their own settings while they train (train.tune).
namespace lanista::studyfile {

/// The name of the strategy that sets train.tune.
inline constexpr std::string_view kMltuner = "mltuner";
/// The options of that strategy: those of kind mltuner of train.tune, and `end`.
std::vector<OptionSpec> mltuner_strategy_options();

/// The options of strategy.then in addition to its tuner: best, end.
std::vector<OptionSpec> second_stage_options();
/// The kinds of tuner that strategy.then may have: those that search.
std::vector<study::TunePlugin> second_stage_tuners();

/// Checks the options of a kind of train.tune beyond their schema. Errors: kInvalidArgument, at the option.
Result<void> check_tuner(const std::string& name, const Options& options);
/// The setting with all ranges in one notation.
study::PluginConfig with_normalized_ranges(study::PluginConfig tune);
/// The setting for `train.schedule: {from: DIR}`, which embed_schedule() completes.
study::PluginConfig replayed_schedule(const std::string& folder);
/// The settings of a study that conflict with its train.tune; none: no conflict.
std::optional<Error> tuning_conflict(const study::StudyConfig& config);
/// Epochs without an improvement after which a trial of strategy mltuner ends and another begins. On the development
/// tasks of `lanista bench mltuner` 12 is better than 5, 8, 10 and 16.
inline constexpr std::int64_t kDefaultEndEpochs = 12;
/// Trials of each model in a study without a budget. A problem that stops one trial seldom stops another.
inline constexpr std::int64_t kTrialsPerModel = 4;
/// Most epochs of such a trial if the study sets none; usually it ends by `end`.
inline constexpr std::int64_t kDefaultMaxEpochs = 100;
/// Replaces `strategy: mltuner` by its settings: train.tune, patience as the rule that ends a trial, and random base
/// models. Base models are repeated unless another setting trains them several times. The number of trials is the
/// budget, or one for each model without a budget (has_bound). Errors: kInvalidArgument, at the option.
Result<void> expand_mltuner_strategy(study::StudyConfig& config, bool has_bound);
/// Reads the schedule that train.tune names by a folder, relative to `folder`, from its package.json. Errors at
/// train.schedule: kNotFound, kInvalidArgument (no package, or the winner had no schedule), those of reading.
Result<void> embed_schedule(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
