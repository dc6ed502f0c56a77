#include "lanista/search/study/span_costs.h"

#include <array>
#include <cmath>
#include <string>

#include "lanista/search/study/record_fields.h"

namespace lanista::study {
namespace {

constexpr double kTicks = 1e7;  // per second
constexpr std::size_t kNumbers = 7;

double ticks(double seconds) { return std::round(seconds * kTicks) / kTicks; }

}  // namespace

nlohmann::json span_costs_json(const SpanCosts& costs) {
  return nlohmann::json::array({costs.steps, ticks(costs.stepping), ticks(costs.evaluating), ticks(costs.set_up),
                                ticks(costs.restoring), ticks(costs.saving), costs.bytes});
}

SpanCosts read_span_costs(const nlohmann::json& in) {
  if (!in.is_array() || in.size() != kNumbers) throw fields::Malformed{"'costs' must be a list of 7 numbers"};
  std::array<double, kNumbers> seconds{};
  for (std::size_t i = 0; i < kNumbers; ++i) {
    seconds[i] = in[i].is_number() ? in[i].get<double>() : -1;
    if (!std::isfinite(seconds[i]) || seconds[i] < 0) {
      throw fields::Malformed{"number " + std::to_string(i + 1) + " of 'costs' must be at least 0"};
    }
  }
  if (!in[0].is_number_integer() || !in[6].is_number_integer()) {
    throw fields::Malformed{"the first and the last number of 'costs' must be whole"};
  }
  return {in[0].get<std::int64_t>(), seconds[1], seconds[2], seconds[3], seconds[4], seconds[5],
          in[6].get<std::int64_t>()};
}

}  // namespace lanista::study
