#pragma once

#include <optional>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/assessment.h"
#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// Assesses the model of DIR/best on the validation part, and on the test part if `tested`, and writes
/// DIR/assessment.json for the report. Does nothing if that file already assesses these weights on as many parts. The
/// same package and data give the same bytes. Errors: those of engine::read_package and inference::assess_model, kIo,
/// kResourceExhausted.
Result<void> write_assessment(FileSystem& fs, const std::string& folder, const data::Dataset& data, bool tested);

/// Returns the assessment of the study's winner from DIR/assessment.json. nullopt: there is no winner, the file cannot
/// be read or belongs to another trial.
std::optional<study::ModelAssessment> stored_assessment(FileSystem& fs, const std::string& folder,
                                                        const study::StudyView& view);

}  // namespace lanista::cli
