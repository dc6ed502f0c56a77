#pragma once

#include <optional>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/assessment.h"
#include "lanista/search/study/study_view.h"

namespace lanista::cli {

/// Assesses the model of DIR/best and writes DIR/assessment.json, for the report; does nothing where the file is of
/// these weights already. The same package and data give the same bytes. Errors: of engine::read_package and
/// runtime::assess_model, kIo, kResourceExhausted.
Result<void> write_assessment(FileSystem& fs, const std::string& folder, const data::Dataset& data, bool tested);

/// What is kept of the study's winner; nullopt where there is nothing that can be read, or it is of another trial.
std::optional<study::ModelAssessment> stored_assessment(FileSystem& fs, const std::string& folder,
                                                        const study::StudyView& view);

}  // namespace lanista::cli
