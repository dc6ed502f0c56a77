#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "lanista/search/study/config.h"
#include "lanista/io/studyfile/mistakes.h"

// train.rates: factors of the learning rate by part of the model. What is wrong goes to the mistakes.
namespace lanista::studyfile {

/// none, or a map of factors by part.
void read_rates(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Nodes are parts of one base model, once everything is read. Which node is meant is known when the base model is.
void check_rates(const YAML::Node& root, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
