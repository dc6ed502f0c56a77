#pragma once

#include <nlohmann/json.hpp>

#include "lanista/base/options.h"

namespace lanista::studyfile {

/// Returns the JSON Schema of one option: type, range, allowed words, description and default.
nlohmann::json option_schema(const OptionSpec& spec);

}  // namespace lanista::studyfile
