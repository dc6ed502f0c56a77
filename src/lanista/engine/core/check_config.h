#pragma once

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Checks counts, names and combinations of settings that the engine needs. Errors: kInvalidArgument with the key in
/// `where`.
Result<void> check_config(const study::StudyConfig& config);

}  // namespace lanista::engine
