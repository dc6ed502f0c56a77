#pragma once

#include <map>
#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of settings that trials change while they train. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads train.tune: none, or a kind with its options.
void read_tune(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// How data.batch begins if it is not a number.
inline constexpr std::string_view kAdaptiveCall = "adaptive(";
/// Reads data.batch: adaptive(FROM, MOST), a first batch and a short form of a kind of tune.
void read_adaptive(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Reads train.schedule: {from: DIR}, a short form of a kind of tune.
void read_schedule_source(const YAML::Node& node, const std::string& path, study::StudyConfig& config,
                          Mistakes& mistakes);
/// Replaces `strategy: mltuner` by trials that tune themselves: one, or as many as the budget allows. Any other
/// strategy does not change. `options` are those of the strategy, by name.
void read_strategy_mltuner(const YAML::Node& root, const std::map<std::string, YAML::Node>& options,
                           study::StudyConfig& config, Mistakes& mistakes);
/// Reads strategy.then: none, or a tuner together with `best` and `end`.
void read_then(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Adds conflicts with train.tune. Precondition: everything was read.
void check_tune(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
