#include "lanista/search/sampler/perturbation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>

#include "lanista/model/space/chooser.h"
#include "lanista/model/space/quantum_grid.h"

namespace lanista::search {
namespace {

using space::Value;

Value sampled_value(const space::Domain& domain, const Rng& rng) {
  space::RandomChooser choose(rng);
  return choose.sample_value("value", domain);
}

bool is_number(const Value& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
}

double real(const Value& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  return whole != nullptr ? static_cast<double>(*whole) : std::get<double>(value);
}

/// Returns the next or previous value of the list, at an end the end itself.
Value neighbour(const space::Categorical& list, const Value& value, bool up) {
  const auto place = std::ranges::find(list.values, value) - list.values.begin();
  const std::ptrdiff_t last = std::ssize(list.values) - 1;
  return list.values[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(place + (up ? 1 : -1), 0, last))];
}

Value multiplied(const space::IntRange& range, std::int64_t value, double factor) {
  const std::int64_t last = (range.hi - range.lo) / range.step;  // Index of the largest value.
  const std::int64_t here = (value - range.lo) / range.step;
  const double wanted =
      (static_cast<double>(value) * factor - static_cast<double>(range.lo)) / static_cast<double>(range.step);
  auto place = static_cast<std::int64_t>(std::floor(std::clamp(wanted, 0.0, static_cast<double>(last)) + 0.5));
  if (place == here && value != 0) place += (factor > 1) == (value > 0) ? 1 : -1;
  return range.lo + std::clamp<std::int64_t>(place, 0, last) * range.step;
}

Value multiplied(const space::FloatRange& range, double value, double factor) {
  const double wanted = std::clamp(value * factor, range.lo, range.hi);
  if (range.quant <= 0) return wanted;
  if (range.from_lo) return space::quantum_value(range, space::nearest_factor(range, wanted));
  const double least = std::ceil(range.lo / range.quant), most = std::floor(range.hi / range.quant);
  if (least > most) return value;
  return std::clamp(std::floor(wanted / range.quant + 0.5), least, most) * range.quant;
}

}  // namespace

Value explored(const space::Domain& domain, const Value& value, const Exploration& how, const Rng& rng) {
  if (rng.split("resample").uniform() < how.resample) return sampled_value(domain, rng.split("value"));
  const bool up = rng.split("way").uniform() < 0.5;
  const double factor = up ? how.up : how.down;
  if (const auto* list = std::get_if<space::Categorical>(&domain)) {
    const bool ordered = std::ranges::all_of(list->values, is_number);
    return ordered ? neighbour(*list, value, up) : sampled_value(domain, rng.split("value"));
  }
  if (const auto* range = std::get_if<space::IntRange>(&domain)) {
    return multiplied(*range, std::get<std::int64_t>(value), factor);
  }
  return multiplied(std::get<space::FloatRange>(domain), real(value), factor);
}

space::Sample explored(const space::SearchSpace& space, const space::Sample& sample, const Exploration& how,
                       const Rng& rng) {
  space::Sample out;
  for (const space::Parameter& parameter : space.parameters()) {
    if (!space::is_active(parameter, out)) continue;
    const Rng own = rng.split(parameter.name);
    const auto before = sample.find(parameter.name);
    const bool known = before != sample.end() && space::domain_contains(parameter.domain, before->second);
    out[parameter.name] =
        known ? explored(parameter.domain, before->second, how, own) : sampled_value(parameter.domain, own);
  }
  return out;
}

}  // namespace lanista::search
