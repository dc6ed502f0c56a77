#pragma once

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Checks the settings that the engine needs: counts are in range, names are allowed, and combinations make sense.
/// Errors: kInvalidArgument (the first setting that is not allowed, with its key in `where`).
Result<void> check_config(const study::StudyConfig& config);

}  // namespace lanista::engine
