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
/// The options of strategy mltuner: those of tuner mltuner of train.tune, and `end`.
std::vector<OptionSpec> mltuner_strategy_options();

/// The options of strategy.then (second stage) in addition to those of its tuner: best, end.
std::vector<OptionSpec> second_stage_options();
/// The tuners that strategy.then may name: those of train.tune with a tune search.
std::vector<study::TunePlugin> second_stage_tuners();

/// Checks resolved options of the tuner `name` of train.tune beyond their schema, by the rules of the study. Errors:
/// kInvalidArgument (an invalid value), at the option.
Result<void> check_tuner(const std::string& name, const Options& options, std::int64_t rules);
/// A copy of a setting train.tune with each domain of its params as explicit_domain_text() writes it, so that equal
/// settings have equal texts and need no rules. A tuner without a search, or an invalid one, does not change.
study::PluginConfig with_normalized_ranges(study::PluginConfig tune, std::int64_t rules);
/// The setting train.tune that `train.schedule: {from: DIR}` means, with `folder` as DIR; embed_schedule() completes
/// it.
study::PluginConfig replayed_schedule(const std::string& folder);
/// The first conflict of a setting of a study with its train.tune, as an error; nullopt: none. `where` is train.tune or
/// data.batch.
std::optional<Error> tuning_conflict(const study::StudyConfig& config);
/// Number of epochs without an improvement after which a trial of strategy mltuner ends and another begins. On the
/// development tasks of `lanista bench mltuner` 12 is better than 5, 8, 10 and 16.
inline constexpr std::int64_t kDefaultEndEpochs = 12;
/// Number of trials of each base model in a study of strategy mltuner without a budget.
inline constexpr std::int64_t kTrialsPerModel = 4;
/// Largest number of epochs of a trial of strategy mltuner if the study sets none; usually it ends earlier by `end`.
inline constexpr std::int64_t kDefaultMaxEpochs = 100;
/// Replaces `strategy: mltuner` in the configuration by the settings that it means: train.tune, patience as the
/// stopping rule, and random base models. Base models are repeated unless another setting trains them several times.
/// `has_bound`: the study has a budget, which stays. Else the budget is kTrialsPerModel trials for each repeated model,
/// or one. Errors: kInvalidArgument, at the option.
Result<void> expand_mltuner_strategy(study::StudyConfig& config, bool has_bound);
/// If train.tune replays the schedule of a folder DIR, relative to `folder`, reads the schedule from package.json in
/// DIR or DIR/best into the configuration. Else it does nothing. Errors: kNotFound (no such file), kInvalidArgument (no
/// valid package, or its model had no schedule), both at train.schedule; those of reading.
Result<void> embed_schedule(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
