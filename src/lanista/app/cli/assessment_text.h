#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lanista/inference/assessment.h"
#include "lanista/io/data/spec.h"

namespace lanista::cli {

/// For people: metrics, one a line; under them the confusion matrix (of more than 20 classes the ten with the lowest
/// recall), or the residuals. No control characters, whatever the labels are.
std::string assessment_text(const runtime::Assessment& assessment, const data::DataSpec& data);

/// For programs: all of it.
nlohmann::json assessment_json(const runtime::Assessment& assessment, const data::DataSpec& data);

}  // namespace lanista::cli
