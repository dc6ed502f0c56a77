#pragma once

#include <map>
#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of settings that trials change while they train. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads `node`, the value of train.tune, into config: none, or a tuner with its options. `path` is its full key.
void read_tune(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// The beginning of a value of data.batch that is not a number.
inline constexpr std::string_view kAdaptiveCall = "adaptive(";
/// Reads `node`, a value "adaptive(FROM, MOST)" of data.batch, into config: FROM is the first batch size, MOST the
/// largest one of the tuner adaptive. Without FROM the batch size in config stays. Precondition: the value begins with
/// kAdaptiveCall.
void read_adaptive(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Reads `node`, a value {from: DIR} of train.schedule, into config as the tuner that replays the schedule of DIR.
void read_schedule_source(const YAML::Node& node, const std::string& path, study::StudyConfig& config,
                          Mistakes& mistakes);
/// Applies expand_mltuner_strategy() if the strategy is mltuner; any other strategy does not change. A section stop of
/// the file stays. Without one, and without train.epochs and train.steps, a trial has at most kDefaultMaxEpochs epochs.
/// Mutators, a space of models, train.tune and strategy.then are mistakes here. `root` is the whole file. `options` has
/// the nodes of the options of the strategy by name, for positions of mistakes.
void read_strategy_mltuner(const YAML::Node& root, const std::map<std::string, YAML::Node>& options,
                           study::StudyConfig& config, Mistakes& mistakes);
/// Reads `node`, the value of strategy.then, into config: none, or a tuner together with `best` and `end`. It sets
/// nothing if `mistakes` has any.
void read_then(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Adds a mistake for the first conflict of a setting with train.tune (tuning_conflict()). `root` is the whole file.
/// Precondition: all settings were read.
void check_tune(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
