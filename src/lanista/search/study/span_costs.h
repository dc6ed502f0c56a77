#pragma once

#include <cstdint>

#include <nlohmann/json.hpp>

namespace lanista::study {

/// What the seconds of a span went into, as far as its worker told; zeros: nothing is known. Seconds are a trial's own
/// share where several were trained in the same go. They enter no result.
struct SpanCosts {
  std::int64_t steps = 0;  ///< of training, that `stepping` is of
  double stepping = 0;     ///< seconds of those steps
  double evaluating = 0;   ///< seconds of the measuring at the end of the epoch
  double set_up = 0;       ///< seconds in which its program was made, before the span
  double restoring = 0;    ///< seconds in which its state was read and put there, before the span
  double saving = 0;       ///< seconds of the last snapshot before the span
  std::int64_t bytes = 0;  ///< of the program with the states that it held
  bool operator==(const SpanCosts&) const = default;
};

/// In a record and in a message: an array, in the order above; seconds to a tenth of a microsecond.
nlohmann::json span_costs_json(const SpanCosts& costs);
/// Throws fields::Malformed: no such array, or a number in it that is negative or not finite.
SpanCosts read_span_costs(const nlohmann::json& in);

}  // namespace lanista::study
