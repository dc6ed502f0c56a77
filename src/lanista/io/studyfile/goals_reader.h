#pragma once

#include <yaml-cpp/yaml.h>

#include "lanista/search/study/config.h"
#include "lanista/io/studyfile/mistakes.h"

// goal, subject_to and implied. What is wrong goes to the mistakes.
namespace lanista::studyfile {

void read_goals(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);
void read_constraints(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);
/// `root`: the whole file, in which a rule's mistake is looked up. Once section space is read; whether choices inside
/// the model are there is known when the model is (resolve_from_data).
void read_implied(const YAML::Node& root, const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
