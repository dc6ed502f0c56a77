#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::engine {

/// Checks that a folder is empty or holds only the files of a study that has no first record yet. Errors:
/// kAlreadyExists.
Result<void> check_new_folder(FileSystem& fs, const std::string& folder);

/// Checks that no link, FIFO, device or socket is in the place of a folder or file that the study writes. It runs
/// before any change. `fs` is confined to the folder. Errors: kDataLoss, which names the path.
Result<void> check_own_paths(FileSystem& fs, const std::string& folder);

/// Creates the folders of a study, removes temporary files of killed writers, and writes README.txt and
/// config.resolved.yaml if they are missing. The caller holds the study's lock.
Result<void> create_study_layout(FileSystem& fs, const std::string& folder, const std::string& config_text);

}  // namespace lanista::engine
