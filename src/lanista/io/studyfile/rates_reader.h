#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of train.rates: factors of the learning rate by part of the model. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads `node`, the value of train.rates, into config: none, or a map of factors of the learning rate (above 0) by
/// part of the model. `path` is its full key.
void read_rates(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Checks that a study in which train.rates names a node has one base model. `root` is the whole file. Precondition:
/// all settings were read. The named node is checked when the base model is known.
void check_rates(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
