#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lanista/inference/assessment.h"
#include "lanista/io/data/spec.h"

namespace lanista::cli {

/// Returns the output of `eval`: one metric a line, then the confusion matrix or the residuals. With more than 20
/// classes it lists the ten classes with the lowest recall instead of the matrix. Labels are made printable.
std::string assessment_text(const inference::Assessment& assessment, const data::DataSpec& data);

/// Returns the output of `eval --json`: all fields of the assessment.
nlohmann::json assessment_json(const inference::Assessment& assessment, const data::DataSpec& data);

}  // namespace lanista::cli
