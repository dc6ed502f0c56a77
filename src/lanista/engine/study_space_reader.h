#pragma once

#include "lanista/engine/study_mistakes.h"
#include "lanista/study/config.h"

namespace lanista::engine {

/// Reads the `space` block of a study file: mutators, repair, hyper-parameters, limits.
void read_space(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes);

}  // namespace lanista::engine
