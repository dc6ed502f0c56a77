#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of train.rates: factors of the learning rate by part of the model. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads train.rates: none, or a map of factors by part.
void read_rates(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Checks that parts that are nodes belong to one base model. Precondition: everything was read. The named node is
/// checked when the base model is known.
void check_rates(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
