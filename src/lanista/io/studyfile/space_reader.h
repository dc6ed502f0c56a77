#pragma once

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/search/study/config.h"

namespace lanista::studyfile {

/// Reads `node`, section space of a study file, into config: mutators, repair, hyper-parameters, limits. Each value
/// must be valid in a recipe with the other settings, which must have been read; of ranges the bounds are checked.
/// Mistakes are added to `mistakes`.
void read_space(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::studyfile
