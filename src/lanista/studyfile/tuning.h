#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/file_system.h"
#include "lanista/base/options.h"
#include "lanista/base/result.h"
#include "lanista/study/config.h"
#include "lanista/study/tuner.h"

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
study::PluginConfig tidied(study::PluginConfig tune);
/// What `train.schedule: {from: DIR}` stands for, until read_played_back has read it.
study::PluginConfig played_back_from(const std::string& folder);
/// What in a study does not go with its train.tune; nullopt: nothing.
std::optional<Error> beside_tuning(const study::StudyConfig& config);
/// Makes of `strategy: mltuner` what it stands for: train.tune, one trial a base model unless the budget says how many,
/// drawn at random, and patience as the rule that ends it. Errors: kInvalidArgument, at the option.
Result<void> tune_of_strategy(study::StudyConfig& config, bool has_trials);
/// Reads the schedule that train.tune names by a folder, relative to `folder`: that of its package.json. Errors: at
/// train.schedule; kNotFound, kInvalidArgument (no package, or the winner had no schedule), those of reading.
Result<void> inline_schedule(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

}  // namespace lanista::studyfile
