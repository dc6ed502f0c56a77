#include "lanista/model/space/chooser.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/portable_math.h"
#include "lanista/model/space/quantum_grid.h"

namespace lanista::space {

namespace {

Value sample_int(const IntRange& range, Rng& rng) {
  const std::int64_t last = *domain_size(range) - 1;
  if (!range.log)
    return range.lo + range.step * static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(last) + 1));
  // Half a unit on both sides: with step 1, the end values have intervals as wide as the others.
  const auto lo = static_cast<double>(range.lo);
  const auto top = static_cast<double>(range.lo + last * range.step);
  const double x = portable_exp(rng.uniform(portable_log(lo - 0.5), portable_log(top + 0.5)));
  const auto nearest = static_cast<std::int64_t>(std::floor((x - lo) / static_cast<double>(range.step) + 0.5));
  return range.lo + range.step * std::clamp<std::int64_t>(nearest, 0, last);
}

Value sample_float(const FloatRange& range, Rng& rng) {
  if (range.quant > 0) {
    if (!range.log) {
      const auto grid = quantum_grid(range);
      return quantum_value(range, rng.between(grid.first, grid.last));
    }
    const double x = portable_exp(rng.uniform(portable_log(range.lo), portable_log(range.hi)));
    return quantum_value(range, nearest_factor(range, x));
  }
  if (!range.log) return std::clamp(rng.uniform(range.lo, range.hi), range.lo, range.hi);
  const double x = portable_exp(rng.uniform(portable_log(range.lo), portable_log(range.hi)));
  return std::clamp(x, range.lo, range.hi);
}

}  // namespace

nlohmann::json trace_json(const Trace& trace) {
  auto json = nlohmann::json::array();
  for (const Decision& d : trace) json.push_back({d.label, d.count, value_json(d.answer)});
  return json;
}

Result<Trace> trace_from_json(const nlohmann::json& json) {
  const auto invalid = [](const std::string& message) { return Error{Code::kInvalidArgument, message, ""}; };
  if (!json.is_array()) return invalid("a trace must be a list of decisions, not " + json.dump());
  Trace trace;
  for (const auto& item : json) {
    if (!item.is_array() || item.size() != 3 || !item[0].is_string() || !item[1].is_number_integer()) {
      return invalid("a decision must be [label, count, answer], not " + item.dump());
    }
    auto count = value_from_json(item[1]);
    if (!count || std::get<std::int64_t>(*count) < 0) {
      return invalid("a decision's count must be 0 or more, not " + item[1].dump());
    }
    LANISTA_ASSIGN(Value answer, value_from_json(item[2]));
    trace.push_back({item[0].get<std::string>(), std::get<std::int64_t>(*count), std::move(answer)});
  }
  return trace;
}

std::int64_t Chooser::index(std::string_view label, std::int64_t count) {
  LANISTA_CHECK(count > 0, "a choice among nothing: " + std::string(label));
  const std::int64_t answer = pick_index(label, count);
  LANISTA_CHECK(answer >= 0 && answer < count, "answer out of range: " + std::string(label));
  trace_.push_back({std::string(label), count, answer});
  return answer;
}

Value Chooser::sample_value(std::string_view label, const Domain& domain) {
  Value answer = pick_value(label, domain);
  trace_.push_back({std::string(label), domain_size(domain).value_or(0), answer});
  return answer;
}

std::int64_t RandomChooser::pick_index(std::string_view, std::int64_t count) {
  return static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(count)));
}

Value RandomChooser::pick_value(std::string_view, const Domain& domain) {
  if (const auto* range = std::get_if<IntRange>(&domain)) return sample_int(*range, rng_);
  if (const auto* range = std::get_if<FloatRange>(&domain)) return sample_float(*range, rng_);
  const auto& values = std::get<Categorical>(domain).values;
  return values[static_cast<std::size_t>(rng_.below(values.size()))];
}

Result<void> ReplayChooser::status() const {
  if (error_) return *error_;
  if (position_ < record_.size()) {
    return Error{Code::kDataLoss,
                 "the record holds " + std::to_string(record_.size()) + " decisions, but only " +
                     std::to_string(position_) + " were asked; the next is '" + record_[position_].label + "'",
                 ""};
  }
  return {};
}

const Decision* ReplayChooser::next(std::string_view label, std::int64_t count) {
  if (error_) return nullptr;
  const std::string asked = "'" + std::string(label) + "' among " + std::to_string(count);
  if (position_ == record_.size()) {
    error_ = Error{Code::kDataLoss, "the record is too short: asked for " + asked, ""};
    return nullptr;
  }
  const Decision& decision = record_[position_];
  if (decision.label != label || decision.count != count) {
    error_ = Error{Code::kDataLoss,
                   "decision " + std::to_string(position_) + ": asked for " + asked + ", the record holds '" +
                       decision.label + "' among " + std::to_string(decision.count),
                   ""};
    return nullptr;
  }
  ++position_;
  return &decision;
}

std::int64_t ReplayChooser::pick_index(std::string_view label, std::int64_t count) {
  const Decision* decision = next(label, count);
  if (!decision) return 0;
  const auto* answer = std::get_if<std::int64_t>(&decision->answer);
  if (answer && *answer >= 0 && *answer < count) return *answer;
  error_ = Error{Code::kDataLoss,
                 "'" + decision->label + "': " + value_text(decision->answer) + " is not a number from 0 to " +
                     std::to_string(count - 1),
                 ""};
  return 0;
}

Value ReplayChooser::pick_value(std::string_view label, const Domain& domain) {
  if (const Decision* decision = next(label, domain_size(domain).value_or(0))) {
    if (domain_contains(domain, decision->answer)) return decision->answer;
    error_ =
        Error{Code::kDataLoss,
              "'" + decision->label + "': " + value_text(decision->answer) + " is not in " + domain_text(domain), ""};
  }
  return domain_value(domain, 0, 2);
}

std::int64_t GridChooser::pick_index(std::string_view, std::int64_t count) {
  const auto radix = static_cast<std::uint64_t>(count);
  const std::uint64_t digit = rest_ % radix;
  rest_ /= radix;
  return static_cast<std::int64_t>(digit);
}

Value GridChooser::pick_value(std::string_view label, const Domain& domain) {
  const std::int64_t count = domain_size(domain).value_or(grain_);
  return domain_value(domain, pick_index(label, count), count);
}

}  // namespace lanista::space
