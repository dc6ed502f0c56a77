#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// The state of a study as one object: counts of its trials, best trial, Pareto front, workers. Each trial is counted
/// once: under way, paused, finished (duplicates included), stopped, failed or cancelled.
nlohmann::json status_json(const std::string& folder, const study::StudyView& view);

/// The state of a study as one printable line, and one more line for each bracket of successive halving.
std::string status_text(const std::string& folder, const study::StudyView& view);

}  // namespace lanista::cli
