#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Returns a text for people for each setting of the training that has no effect in trials of these epochs, with the
/// reason. `config` is resolved. They are a warm-up and a step schedule as long as a trial, settings of section train
/// that the optimisers of the study do not read.
std::vector<std::string> idle_settings(const study::StudyConfig& config);

/// Removes from `settings`, by name, those that only other optimisers than this one read, such as the momentum of adam.
/// An unknown optimiser removes nothing.
void erase_unread_numbers(nlohmann::json& settings, const std::string& optimizer);

}  // namespace lanista::engine
