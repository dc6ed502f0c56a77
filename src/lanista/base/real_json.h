#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace lanista {

/// A number as JSON for a record. JSON has no form for numbers that are not finite, and a writer would store null,
/// which no reader of numbers accepts. These numbers become the texts "nan", "inf" and "-inf".
nlohmann::json real_json(double value);

/// The number that real_json() wrote. None for everything else, also for a JSON number that is not finite, which would
/// not survive being written.
std::optional<double> parse_real_json(const nlohmann::json& value);

/// Whether some number in `value`, at any depth, would be written as null.
bool has_non_finite_number(const nlohmann::json& value);

}  // namespace lanista
