#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace lanista {

/// Returns a number as JSON for a record. JSON has no form for numbers that are not finite, and a writer would store
/// null, which no reader of numbers accepts. These numbers become the texts "nan", "inf" and "-inf".
nlohmann::json real_json(double value);

/// Reads a number from the JSON of real_json(). No value for any other JSON, also for a JSON number that is not finite,
/// because a writer would store null for it.
std::optional<double> parse_real_json(const nlohmann::json& value);

/// True if some number in `value`, at any depth, is not finite, so that it would be written as null.
bool has_non_finite_number(const nlohmann::json& value);

}  // namespace lanista
