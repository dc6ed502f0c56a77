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

// What a study file says of trials that change their own settings while they train (train.tune).
namespace lanista::studyfile {

/// The strategy's name that stands for train.tune's.
inline constexpr std::string_view kMltuner = "mltuner";
/// Its options: those of train.tune's mltuner, and `end`.
std::vector<OptionSpec> mltuner_strategy_options();

/// What strategy.then has beside its tuner: best, end.
std::vector<OptionSpec> second_stage_options();
/// The kinds of tuner that it may have: those that search.
std::vector<study::TunePlugin> second_stage_tuners();

/// Whether options that suit the schema of a kind of train.tune are good. Errors: kInvalidArgument, at the option.
Result<void> check_tuner(const std::string& name, const Options& options);
/// Ranges in one notation.
study::PluginConfig with_normalized_ranges(study::PluginConfig tune);
/// What `train.schedule: {from: DIR}` stands for, until read_schedule_source has read it.
study::PluginConfig replayed_schedule(const std::string& folder);
/// What in a study does not go with its train.tune; nullopt: nothing.
std::optional<Error> tuning_conflict(const study::StudyConfig& config);
/// EpochSchedule without an improvement after which a trial of strategy mltuner ends and another begins. On the tasks for
/// development of `lanista bench mltuner` 12 is better than 5, 8, 10 and 16.
inline constexpr std::int64_t kDefaultEndEpochs = 12;
/// Trials of a model where the study has no budget: what one of them cannot get away from, another seldom meets.
inline constexpr std::int64_t kTrialsPerModel = 4;
/// EpochSchedule of such a trial where the study says nothing: it ends by `end`.
inline constexpr std::int64_t kDefaultMaxEpochs = 100;
/// Makes of `strategy: mltuner` what it stands for: train.tune, patience as the rule that ends a trial, and base models
/// at random, again and again where nothing else trains them several times: as many trials as the budget says, or one a
/// model where it says nothing (has_bound). Errors: kInvalidArgument, at the option.
Result<void> expand_mltuner_strategy(study::StudyConfig& config, bool has_bound);
/// Reads the schedule that train.tune names by a folder, relative to `folder`: that of its package.json. Errors: at
/// train.schedule; kNotFound, kInvalidArgument (no package, or the winner had no schedule), those of reading.
Result<void> embed_schedule(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
