#include "lanista/model/space/unit_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/base/check.h"
#include "lanista/base/portable_math.h"
#include "lanista/model/space/quantum_grid.h"

namespace lanista::space {
namespace {

/// The scale on which a domain is sampled uniformly. Integer ranges get here only if they are logarithmic.
double scaled(const Domain& domain, double x) {
  const auto* range = std::get_if<FloatRange>(&domain);
  return range == nullptr || range->log ? portable_log(x) : x;
}

/// The bounds on that scale. Integers get half a unit more on both sides, so that the end values are as probable.
UnitInterval bounds_of(const Domain& domain) {
  if (const auto* range = std::get_if<IntRange>(&domain)) {
    const auto top = static_cast<double>(range->lo + (*domain_size(domain) - 1) * range->step);
    return {scaled(domain, static_cast<double>(range->lo) - 0.5), scaled(domain, top + 0.5)};
  }
  const auto& range = std::get<FloatRange>(domain);
  return {scaled(domain, range.lo), scaled(domain, range.hi)};
}

double between(UnitInterval bounds, double t) { return bounds.lo * (1 - t) + bounds.hi * t; }

double place(UnitInterval bounds, double x) {
  const double width = bounds.hi - bounds.lo;
  return width > 0 ? std::clamp((x - bounds.lo) / width, 0.0, 1.0) : 0.5;
}

/// Whether all values are equally probable.
bool is_even(const Domain& domain) {
  if (const auto* range = std::get_if<IntRange>(&domain)) return !range->log;
  if (const auto* range = std::get_if<FloatRange>(&domain)) {
    return range->lo == range->hi || (range->quant > 0 && !range->log);
  }
  return true;
}

std::int64_t even_index(const Domain& domain, const Value& value) {
  if (const auto* c = std::get_if<Categorical>(&domain)) {
    return std::find(c->values.begin(), c->values.end(), value) - c->values.begin();
  }
  if (const auto* range = std::get_if<IntRange>(&domain)) {
    return (std::get<std::int64_t>(value) - range->lo) / range->step;
  }
  const auto& range = std::get<FloatRange>(domain);
  if (range.lo == range.hi) return 0;
  return nearest_factor(range, std::get<double>(value)) - quantum_grid(range).first;
}

double number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  return std::get<double>(value);
}

}  // namespace

Value value_at(const Domain& domain, double u) {
  LANISTA_CHECK(u >= 0 && u <= 1, "a place outside the unit interval");
  if (is_even(domain)) {
    const std::int64_t size = *domain_size(domain);
    const auto index = static_cast<std::int64_t>(u * static_cast<double>(size));
    return domain_value(domain, std::min(index, size - 1), size);
  }
  const double x = between(bounds_of(domain), u);
  if (const auto* range = std::get_if<IntRange>(&domain)) {
    const double steps = (portable_exp(x) - static_cast<double>(range->lo)) / static_cast<double>(range->step);
    const auto nearest = static_cast<std::int64_t>(std::floor(steps + 0.5));
    return range->lo + range->step * std::clamp<std::int64_t>(nearest, 0, *domain_size(domain) - 1);
  }
  const auto& range = std::get<FloatRange>(domain);
  if (!range.log) return std::clamp(x, range.lo, range.hi);
  if (range.quant == 0) return std::clamp(portable_exp(x), range.lo, range.hi);
  return quantum_value(range, nearest_factor(range, portable_exp(x)));
}

UnitInterval unit_cell(const Domain& domain, const Value& value) {
  LANISTA_CHECK(domain_contains(domain, value), value_text(value) + " is not in " + domain_text(domain));
  if (is_even(domain)) {
    const auto size = static_cast<double>(*domain_size(domain));
    const auto index = static_cast<double>(even_index(domain, value));
    return {index / size, (index + 1) / size};
  }
  const auto size = domain_size(domain);
  if (!size) {
    const double position = unit_position(domain, value);
    return {position, position};
  }
  const auto* whole = std::get_if<IntRange>(&domain);
  const double half = (whole ? static_cast<double>(whole->step) : std::get<FloatRange>(domain).quant) / 2;
  const UnitInterval bounds = bounds_of(domain);
  const double x = number(value);
  // The first and last cell end at the bounds of the domain.
  const bool first = value == domain_value(domain, 0, *size) || x <= half;
  const bool last = value == domain_value(domain, *size - 1, *size);
  return {first ? 0 : place(bounds, scaled(domain, x - half)), last ? 1 : place(bounds, scaled(domain, x + half))};
}

double unit_position(const Domain& domain, const Value& value) {
  LANISTA_CHECK(domain_contains(domain, value), value_text(value) + " is not in " + domain_text(domain));
  if (is_even(domain)) {
    const UnitInterval cell = unit_cell(domain, value);
    return (cell.lo + cell.hi) / 2;
  }
  return place(bounds_of(domain), scaled(domain, number(value)));
}

}  // namespace lanista::space
