#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// A study in one object: how its trials stand, its best one, its front. Every trial is counted once: under way,
/// paused, finished (a duplicate has the result of another and counts here), stopped, failed or cancelled.
nlohmann::json status_json(const std::string& folder, const study::StudyView& view);

/// The same for people: printable text of one line, and one for each bracket of successive halving.
std::string status_text(const std::string& folder, const study::StudyView& view);

}  // namespace lanista::cli
