#pragma once

#include <string>
#include <vector>

#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Returns a text for people for each setting of the training that has no effect in trials of these epochs, with the
/// reason. `config` is resolved. They are a warm-up and a step schedule as long as a trial, settings of section train
/// that the optimisers of the study do not read.
std::vector<std::string> idle_settings(const study::StudyConfig& config);

}  // namespace lanista::engine
