#include "lanista/base/real_json.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lanista {

nlohmann::json real_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

std::optional<double> parse_real_json(const nlohmann::json& value) {
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (std::isfinite(number)) return number;
    return std::nullopt;
  }
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

bool has_non_finite_number(const nlohmann::json& value) {
  if (value.is_number_float()) return !std::isfinite(value.get<double>());
  return value.is_structured() && std::any_of(value.begin(), value.end(), has_non_finite_number);
}

}  // namespace lanista
