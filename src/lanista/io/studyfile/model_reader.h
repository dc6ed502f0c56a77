#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "lanista/search/study/config.h"
#include "lanista/io/studyfile/mistakes.h"

// What section model has beside its fields. What is wrong goes to the mistakes.
namespace lanista::studyfile {

/// model.space: a file, a published space ("builtin:…"), or the space itself.
void read_model_space(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// model.frozen: none, or {through, weights}.
void read_frozen(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Frozen parts are of one base model in float32, once everything is read; `model`: the section. Which node is meant is
/// known when the base model is.
void check_frozen(const YAML::Node& model, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
