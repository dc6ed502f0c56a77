#pragma once

#include <string>

#include "lanista/result.h"

namespace lanista {

/// Formats of the trials of a study as one text.
enum class StudyTable {
  kTrialsCsv,        ///< CSV with one row for each trial.
  kMeasurementsCsv,  ///< CSV with one row for each measurement.
  kTrialsJsonLines,  ///< One JSON object a line for each trial, with all its measurements.
  kOptunaJournal,    ///< Journal of Optuna's JournalStorage, which optuna-dashboard opens.
  kChromeTrace,      ///< Workers and epochs over time, which Perfetto opens.
};

/// Returns the trials of the study in `folder` as one text in this format. It writes no file. Errors: kNotFound (no
/// study), kDataLoss (a damaged log).
Result<std::string> export_study(const std::string& folder, StudyTable format);

/// Returns the report of the study in `folder`: one HTML page that needs no network access. It writes no file. Errors:
/// kNotFound (no study), kDataLoss (a damaged log).
Result<std::string> report_page(const std::string& folder);

}  // namespace lanista
