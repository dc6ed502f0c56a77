#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::engine {

/// Refuses a folder that holds anything but an attempt at a study that never got as far as its first record. Errors:
/// kAlreadyExists.
Result<void> check_new_folder(FileSystem& fs, const std::string& folder);

/// Refuses a study folder in which a link, a FIFO, a device or a socket takes the place of a folder or file that the study
/// writes, before anything is changed. `fs` is confined to the folder. Errors: kDataLoss, naming it.
Result<void> check_own_paths(FileSystem& fs, const std::string& folder);

/// Makes the folders of a study, removes what killed writers left in them, and writes README.txt and config.resolved.yaml
/// where they are missing. The caller holds the study's lock.
Result<void> create_study_layout(FileSystem& fs, const std::string& folder, const std::string& config_text);

}  // namespace lanista::engine
