#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::engine {

/// Checks that a folder is absent, empty, or holds only files of a study that has no first record yet. Errors:
/// kAlreadyExists (a study, a log that cannot be read, or other files), those of the file system.
Result<void> check_new_folder(FileSystem& fs, const std::string& folder);

/// Checks the paths that the study writes, before any change: none is a link, FIFO, device or socket, or a file in the
/// place of a folder. `fs` is confined to the folder. Errors: kDataLoss (such a path; the message names it).
Result<void> check_own_paths(FileSystem& fs, const std::string& folder);

/// Creates the folders control/ and ckpt/ of a study, and removes temporary files of killed writers, except in ckpt/
/// and log/. Writes README.txt and config.resolved.yaml (`config_text`) if they are missing. The caller holds the
/// study's lock. Errors: those of the file system.
Result<void> create_study_layout(FileSystem& fs, const std::string& folder, const std::string& config_text);

}  // namespace lanista::engine
