#pragma once

#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::engine {

/// Refuses a folder that holds anything but an attempt at a study that never got as far as its first record. Errors:
/// kAlreadyExists.
Result<void> check_new_folder(FileSystem& fs, const std::string& folder);

/// Makes the folders of a study, removes what killed writers left in them, and writes README.txt and config.resolved.yaml
/// where they are missing. The caller holds the study's lock.
Result<void> furnish_folder(FileSystem& fs, const std::string& folder, const std::string& config_text);

}  // namespace lanista::engine
