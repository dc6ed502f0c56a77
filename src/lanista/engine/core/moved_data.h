#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"
#include "lanista/io/data/dataset.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// The file of a study's folder with the source of its data, if they were moved since the study began. The log keeps
/// the first source.
inline constexpr const char* kMovedDataFile = "data.source";

/// Opens the data of a study in `folder`, at their new place if the study has one. `config` is that of the log and gets
/// the source that is used. Errors: those of data::open. A missing file also names the option that sets a new place.
Result<data::Dataset> open_study_data(study::StudyConfig& config, const std::string& folder, FileSystem& fs);

/// Stores a new source of the data of a study, for this and all later commands. Paths in `source` are relative to the
/// working folder; those in the file are relative to `folder`. Errors: those of data::open and of writing;
/// kFailedPrecondition (other data are there: their hash differs from that in the log), kInvalidArgument (the path
/// cannot be stored).
Result<void> move_study_data(const study::StudyConfig& config, const std::string& folder, const std::string& source,
                             FileSystem& fs);

}  // namespace lanista::engine
