#pragma once

#include <map>
#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "lanista/search/study/config.h"
#include "lanista/io/studyfile/mistakes.h"

// Nodes of a study file that say what trials change of themselves in training. What is wrong goes to the mistakes.
namespace lanista::studyfile {

/// train.tune: none, or a kind with its options.
void read_tune(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// How data.batch begins where it is no number.
inline constexpr std::string_view kAdaptiveCall = "adaptive(";
/// data.batch: adaptive(FROM, MOST), a first batch and a kind of tune in short.
void read_adaptive(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// train.schedule: {from: DIR}, which is a kind of tune in short.
void read_schedule_source(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// strategy: mltuner is one trial, or as many as the budget says, that tune themselves; any other strategy stays as it
/// is. `options`: the strategy's, by name.
void read_strategy_mltuner(const YAML::Node& root, const std::map<std::string, YAML::Node>& options,
                           study::StudyConfig& config, Mistakes& mistakes);
/// strategy.then: none, or a tuner with `best` and `end` beside it.
void read_then(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// What does not go with train.tune, once everything is read.
void check_tune(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
