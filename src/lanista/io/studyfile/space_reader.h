#pragma once

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// Reads the `space` block of a study file: mutators, repair, hyper-parameters, limits.
void read_space(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
