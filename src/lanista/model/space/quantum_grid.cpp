#include "lanista/model/space/quantum_grid.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace lanista::space {
namespace {

__extension__ using Wide = __int128;

/// The shortest decimal number that reads as a real one: digits · 10^exponent.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;
};

Decimal decimal_of(double x) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  const std::size_t point = text.find('.');
  std::string digits(text.substr(0, e));
  if (point != std::string_view::npos) digits.erase(point, 1);
  Decimal out;
  std::from_chars(digits.data(), digits.data() + digits.size(), out.digits);
  const std::size_t sign = text[e + 1] == '+' ? 1 : 0;
  std::from_chars(text.data() + e + 1 + sign, text.data() + text.size(), out.exponent);
  if (point != std::string_view::npos) out.exponent -= static_cast<int>(e - point - 1);
  return out;
}

/// Lower bound, upper bound and quantum as whole multiples of 10^exponent.
struct ExactRange {
  Wide lo = 0, hi = 0, quant = 0;
  int exponent = 0;
};

/// Returns the exact numbers of a range; nullopt if their sizes differ by more than 18 decimal places.
std::optional<ExactRange> exact_range(const FloatRange& range) {
  const std::array<Decimal, 3> numbers{decimal_of(range.lo), decimal_of(range.hi), decimal_of(range.quant)};
  ExactRange out;
  out.exponent = std::numeric_limits<int>::max();
  for (const Decimal& number : numbers) {
    if (number.digits != 0) out.exponent = std::min(out.exponent, number.exponent);
  }
  std::array<Wide, 3> scaled{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i].digits == 0) continue;
    int shift = numbers[i].exponent - out.exponent;
    if (shift > 18) return std::nullopt;
    scaled[i] = numbers[i].digits;
    for (; shift > 0; --shift) scaled[i] *= 10;
  }
  out.lo = scaled[0];
  out.hi = scaled[1];
  out.quant = scaled[2];
  return out;
}

/// Returns the real number nearest to units · 10^exponent.
double real_of(Wide units, int exponent) {
  const bool negative = units < 0;
  if (negative) units = -units;
  std::string text;
  for (; units > 0; units /= 10) text.insert(text.begin(), static_cast<char>('0' + static_cast<int>(units % 10)));
  if (text.empty()) return 0;
  text += "e" + std::to_string(exponent);
  double out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return negative ? -out : out;
}

/// How far below a grid value the upper bound may be, in steps, and still count as it.
double reach_tolerance(const FloatRange& range, double steps) {
  const double of_bounds =
      4 * std::numeric_limits<double>::epsilon() * std::max(std::abs(range.lo), std::abs(range.hi)) / range.quant;
  return std::min(0.25, std::max(std::min(1e-9 * std::max(1.0, steps), 1e-6), of_bounds));
}

/// The factor of the last value of a grid that begins at the lower bound.
std::int64_t last_factor(const FloatRange& range) {
  if (const auto exact = exact_range(range)) {
    const Wide span = exact->hi - exact->lo;
    const auto last = static_cast<std::int64_t>(span / exact->quant);
    const double missing = static_cast<double>(exact->quant - span % exact->quant) / static_cast<double>(exact->quant);
    return missing <= reach_tolerance(range, static_cast<double>(last)) ? last + 1 : last;
  }
  const double steps = (range.hi - range.lo) / range.quant;
  return static_cast<std::int64_t>(std::floor(steps + reach_tolerance(range, steps)));
}

double value_from_lo(const FloatRange& range, std::int64_t factor) {
  const auto exact = exact_range(range);
  const double value = exact ? real_of(exact->lo + factor * exact->quant, exact->exponent)
                             : range.lo + static_cast<double>(factor) * range.quant;
  return std::clamp(value, range.lo, range.hi);
}

}  // namespace

// The tolerance is for bounds that are no exact multiples in binary (0.3 / 0.1 = 2.9999999999999996).
QuantumGrid quantum_grid(const FloatRange& range) {
  if (range.from_lo) return {0, last_factor(range)};
  const auto snap = [](double x, bool up) {
    const double nearest = std::nearbyint(x);
    if (std::abs(x - nearest) <= 1e-9 * std::max(1.0, std::abs(x))) return nearest;
    return up ? std::ceil(x) : std::floor(x);
  };
  return {static_cast<std::int64_t>(snap(range.lo / range.quant, true)),
          static_cast<std::int64_t>(snap(range.hi / range.quant, false))};
}

// Multiples: divides if the quantum is 1 / integer, since 3 / 10 equals the decimal 0.3, and 3 * 0.1 does not.
double quantum_value(const FloatRange& range, std::int64_t factor) {
  if (range.from_lo) return value_from_lo(range, factor);
  const double parts = std::nearbyint(1 / range.quant);
  const bool is_fraction = parts >= 1 && parts < 1e15 && std::abs(parts * range.quant - 1) <= 1e-12;
  const auto k = static_cast<double>(factor);
  return std::clamp(is_fraction ? k / parts : k * range.quant, range.lo, range.hi);
}

std::int64_t nearest_factor(const FloatRange& range, double x) {
  const auto grid = quantum_grid(range);
  const double origin = range.from_lo ? range.lo : 0;
  const double inside = std::clamp(x, range.lo, range.hi);
  const auto nearest = static_cast<std::int64_t>(std::nearbyint((inside - origin) / range.quant));
  return std::clamp(nearest, grid.first, grid.last);
}

}  // namespace lanista::space
