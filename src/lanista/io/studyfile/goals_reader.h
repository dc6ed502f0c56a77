#pragma once

#include <yaml-cpp/yaml.h>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

// Readers of goal, subject_to and implied. Mistakes are added to `mistakes`.
namespace lanista::studyfile {

/// Reads `node`, the value of goal, into config: one goal, a list of goals, or auto, which adds none.
void read_goals(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);
/// Reads `node`, the value of subject_to, into config: one constraint or a list of constraints.
void read_constraints(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);
/// Reads `node`, the value of implied, into config: a list of pruning rules, or none. Precondition: section space was
/// read. `root` is the whole file, which gives the locations of mistakes. Choices inside the model are checked when the
/// model is known (resolve_from_data).
void read_implied(const YAML::Node& root, const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
