#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>

namespace lanista::studyfile {

/// Removes from the tree of default_study() what does not fit `overridden`, the keys that the user sets.
///
/// These are options of another strategy or stopping rule than the user's, the stopping rule next to a strategy that
/// has its own, rungs from train.epochs on, and train.epochs next to train.steps. Keys of `overridden` always stay.
void fit_default_study(YAML::Node& root, const std::map<std::string, std::string>& overridden);

}  // namespace lanista::studyfile
