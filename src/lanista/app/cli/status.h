#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// Returns the state of a study as one JSON object: counts of its trials, steps, seconds and its end. If known, it has
/// best, test, ensemble, noise, baselines, brackets, pareto_front, searches, waiting, widths and workers. Each trial is
/// counted once: under way, paused, finished (duplicates included), stopped, failed, cancelled or pruned by a rule
/// (`implied`).
nlohmann::json status_json(const std::string& folder, const study::StudyView& view);

/// Returns the state of a study as one printable line, then lines on hosts, on workers and on brackets of successive
/// halving.
std::string status_text(const std::string& folder, const study::StudyView& view);

}  // namespace lanista::cli
