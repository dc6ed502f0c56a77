#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of the parts of section model that are not plain settings. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads model.space: a file, a published space ("builtin:…"), or the space itself.
void read_model_space(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Reads model.frozen: none, or {through, weights}.
void read_frozen(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Checks that frozen parts belong to one base model in float32. Precondition: everything was read. `model` is the
/// section. The named node is checked when the base model is known.
void check_frozen(const YAML::Node& model, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
