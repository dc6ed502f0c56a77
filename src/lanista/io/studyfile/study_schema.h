#pragma once

#include <nlohmann/json.hpp>

#include "lanista/base/options.h"

namespace lanista::studyfile {

/// The JSON Schema of one option: type, range, allowed texts, description and default.
nlohmann::json option_schema(const OptionSpec& spec);

}  // namespace lanista::studyfile
