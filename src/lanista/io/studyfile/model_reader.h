#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of the parts of section model that are not plain settings. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads `node`, the value of model.space, into config: the path of a file, a published space ("builtin:…"), or the
/// space itself. `path` is its full key.
void read_model_space(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Reads `node`, the value of model.frozen, into config: none, or {through, weights}. `path` is its full key.
void read_frozen(const YAML::Node& node, const std::string& path, study::StudyConfig& config, Mistakes& mistakes);
/// Checks that a study with model.frozen has one named base model (not builtin:auto), no space of models, and float32.
/// Precondition: everything was read. `model` is the node of section model. It does not check the node of `through`:
/// the engine does so when it has the base model.
void check_frozen(const YAML::Node& model, const study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
