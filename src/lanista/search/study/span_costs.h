#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace lanista::study {

/// The parts of the seconds of a span, as its worker recorded them. Zeros: not recorded. Trials that shared steps have
/// shares of the seconds. No result depends on these numbers.
struct SpanCosts {
  std::int64_t steps = 0;  ///< Number of training steps in the time `stepping`.
  double stepping = 0;     ///< Seconds of training steps.
  double evaluating = 0;   ///< Seconds of the measurement at the end of the epoch.
  double set_up = 0;       ///< Seconds of compiling the program, before the span.
  double restoring = 0;    ///< Seconds of reading and attaching the state, before the span.
  double saving = 0;       ///< Seconds of the last checkpoint before the span.
  std::int64_t bytes = 0;  ///< Memory of the program with its attached states, in bytes.
  bool operator==(const SpanCosts&) const = default;
};

/// Returns the costs as an array of 7 numbers in the order of the fields. Times are in seconds, rounded to 0.1
/// microseconds.
nlohmann::json span_costs_json(const SpanCosts& costs);
/// Reads what span_costs_json returns. Throws fields::Malformed (another form, or a number that is negative or not
/// finite).
SpanCosts read_span_costs(const nlohmann::json& in);

}  // namespace lanista::study
