#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "lanista/inference/assessment.h"
#include "lanista/io/data/spec.h"

namespace lanista::cli {

/// Returns the output of `eval`: the number of rows and one metric a line, then a table. Classes: the confusion matrix,
/// or with more than 20 classes the ten with the lowest recall. Multi-label: precision, recall and F1 of each label.
/// Regression: the residuals, and with several targets also the metrics of each. Labels are made printable.
std::string assessment_text(const inference::Assessment& assessment, const data::DataSpec& data);

/// Returns the output of `eval --json`: v, rows, lost (rows without a prediction), metrics; then `classes` and
/// `confusion`, or `labels` (multi-label), or `residuals` (regression). Names are not made printable.
nlohmann::json assessment_json(const inference::Assessment& assessment, const data::DataSpec& data);

}  // namespace lanista::cli
