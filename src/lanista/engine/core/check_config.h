#pragma once

#include "lanista/base/result.h"
#include "lanista/search/study/config.h"

namespace lanista::engine {

/// Whether the engine can work with the configuration: counts, names, and settings that go together. Errors:
/// kInvalidArgument, with the key in `where`.
Result<void> check_config(const study::StudyConfig& config);

}  // namespace lanista::engine
