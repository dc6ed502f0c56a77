#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace lanista {

/// A number as it stands in a record. JSON has no word for what is not finite and would quietly write null, which no
/// reader of numbers takes back; so these are the texts "nan", "inf" and "-inf".
nlohmann::json real_json(double value);

/// The number that `real_json` wrote; nullopt for everything else, also for a value that would not survive being
/// written as JSON (a number that is not finite, before it was made a text).
std::optional<double> parse_real_json(const nlohmann::json& value);

/// Whether some number in `value`, however deep, would be written as null.
bool has_non_finite_number(const nlohmann::json& value);

}  // namespace lanista
