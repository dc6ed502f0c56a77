#include "lanista/model/space/domain.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/portable_math.h"
#include "lanista/model/space/quantum_grid.h"

namespace lanista::space {

namespace {

Error domain_error(const Domain& domain, const std::string& rule) {
  return Error{Code::kInvalidArgument, domain_text(domain) + ": " + rule, ""};
}

Result<void> check(const Categorical& c) {
  if (c.values.empty()) return domain_error(c, "a choice needs at least one value");
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    const auto* real = std::get_if<double>(&c.values[i]);
    if (real && !std::isfinite(*real)) return domain_error(c, "values must be finite");
    if (std::find(c.values.begin(), c.values.begin() + static_cast<std::ptrdiff_t>(i), c.values[i]) !=
        c.values.begin() + static_cast<std::ptrdiff_t>(i)) {
      return domain_error(c, "the value " + value_text(c.values[i]) + " is listed twice");
    }
  }
  return {};
}

Result<void> check(const IntRange& r) {
  if (r.lo > r.hi) return domain_error(r, "the lower bound must not be above the upper one");
  if (r.step < 1) return domain_error(r, "the step must be at least 1");
  if (r.log && r.lo < 1) return domain_error(r, "a logarithmic range must start above 0");
  const std::uint64_t span = static_cast<std::uint64_t>(r.hi) - static_cast<std::uint64_t>(r.lo);
  if (span >= std::uint64_t{1} << 62) return domain_error(r, "the range is wider than 2^62");
  return {};
}

Result<void> check(const FloatRange& r) {
  if (!std::isfinite(r.lo) || !std::isfinite(r.hi) || !std::isfinite(r.hi - r.lo)) {
    return domain_error(r, "the bounds must be finite");
  }
  if (r.lo > r.hi) return domain_error(r, "the lower bound must not be above the upper one");
  if (r.log && r.lo <= 0) return domain_error(r, "a logarithmic range must start above 0");
  if (!(r.quant >= 0) || !std::isfinite(r.quant))
    return domain_error(r, "the quantum must be 0 (none) or a positive number");
  if (r.quant > 0) {
    constexpr double kExact = 4503599627370496.0;  // 2^52: above it neighbouring multiples become equal
    if (std::max(std::abs(r.lo), std::abs(r.hi)) / r.quant > kExact) return domain_error(r, "the quantum is too small");
    if (const auto grid = quantum_grid(r); grid.first > grid.last) {
      return domain_error(r, "no multiple of the quantum lies inside the bounds");
    }
  }
  return {};
}

/// Whether two numbers are equal up to rounding. `unit` is the size that a rounded zero is compared with.
bool is_near(double a, double b, double unit) {
  return std::abs(a - b) <= 1e-9 * std::max({std::abs(a), std::abs(b), unit});
}

/// Returns the value of the domain that equals `x` up to rounding; nullopt if there is none.
std::optional<Value> rounded_value(const Domain& domain, double x) {
  if (!std::isfinite(x)) return std::nullopt;
  if (const auto* c = std::get_if<Categorical>(&domain)) {
    for (const Value& value : c->values) {
      const auto* real = std::get_if<double>(&value);
      if (real != nullptr && is_near(x, *real, 0)) return value;
    }
    return std::nullopt;
  }
  const auto* range = std::get_if<FloatRange>(&domain);
  if (range == nullptr) return std::nullopt;
  double value = std::clamp(x, range->lo, range->hi);
  if (range->quant > 0) {
    value = quantum_value(*range, nearest_factor(*range, x));
    if (std::abs(x - value) > range->quant / 4) return std::nullopt;
  }
  if (!is_near(x, value, range->quant)) return std::nullopt;
  return value;
}

std::string list_text(const std::vector<Value>& values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += ", ";
    text += value_text(value);
  }
  return text;
}

}  // namespace

Result<void> check_domain(const Domain& domain) {
  return std::visit([](const auto& d) { return check(d); }, domain);
}

std::optional<std::int64_t> domain_size(const Domain& domain) {
  if (const auto* c = std::get_if<Categorical>(&domain)) return static_cast<std::int64_t>(c->values.size());
  if (const auto* r = std::get_if<IntRange>(&domain)) return (r->hi - r->lo) / r->step + 1;
  const auto& f = std::get<FloatRange>(domain);
  if (f.quant > 0) {
    const auto grid = quantum_grid(f);
    return grid.last - grid.first + 1;
  }
  if (f.lo == f.hi) return 1;
  return std::nullopt;
}

Value domain_value(const Domain& domain, std::int64_t i, std::int64_t of) {
  if (const auto size = domain_size(domain)) {
    LANISTA_CHECK(i >= 0 && i < *size, "value " + std::to_string(i) + " of " + domain_text(domain));
  } else {
    LANISTA_CHECK(i >= 0 && i < of, "value " + std::to_string(i) + " of " + std::to_string(of));
  }
  if (const auto* c = std::get_if<Categorical>(&domain)) return c->values[static_cast<std::size_t>(i)];
  if (const auto* r = std::get_if<IntRange>(&domain)) return r->lo + i * r->step;

  const auto& f = std::get<FloatRange>(domain);
  if (f.quant > 0) return quantum_value(f, quantum_grid(f).first + i);
  if (f.lo == f.hi) return f.lo;
  if (of > 1 && i == 0) return f.lo;
  if (of > 1 && i == of - 1) return f.hi;
  const double t = of > 1 ? static_cast<double>(i) / static_cast<double>(of - 1) : 0.5;
  if (!f.log) return std::clamp(f.lo + (f.hi - f.lo) * t, f.lo, f.hi);
  const double lo = portable_log(f.lo);
  return std::clamp(portable_exp(lo + (portable_log(f.hi) - lo) * t), f.lo, f.hi);
}

bool domain_contains(const Domain& domain, const Value& value) {
  if (const auto* c = std::get_if<Categorical>(&domain)) {
    return std::find(c->values.begin(), c->values.end(), value) != c->values.end();
  }
  if (const auto* r = std::get_if<IntRange>(&domain)) {
    const auto* v = std::get_if<std::int64_t>(&value);
    return v && *v >= r->lo && *v <= r->hi && (*v - r->lo) % r->step == 0;
  }
  const auto& f = std::get<FloatRange>(domain);
  const auto* v = std::get_if<double>(&value);
  if (!v || !(*v >= f.lo && *v <= f.hi)) return false;
  if (f.quant == 0) return true;
  return quantum_value(f, nearest_factor(f, *v)) == *v;
}

std::optional<Value> value_in(const Domain& domain, const nlohmann::json& json) {
  std::vector<Value> ways;
  if (json.is_boolean()) ways.emplace_back(json.get<bool>());
  if (json.is_string()) ways.emplace_back(json.get<std::string>());
  if (json.is_number_integer()) ways.emplace_back(json.get<std::int64_t>());
  if (json.is_number()) {
    const auto real = json.get<double>();
    ways.emplace_back(real);
    // Below 2^53 integers convert to reals without loss.
    if (json.is_number_float() && std::abs(real) < 0x1p53 && real == std::floor(real)) {
      ways.emplace_back(static_cast<std::int64_t>(real));
    }
  }
  const auto good =
      std::find_if(ways.begin(), ways.end(), [&](const Value& way) { return domain_contains(domain, way); });
  if (good != ways.end()) return *good;
  return json.is_number() ? rounded_value(domain, json.get<double>()) : std::nullopt;
}

std::string domain_text(const Domain& domain) {
  if (const auto* c = std::get_if<Categorical>(&domain)) return "choice(" + list_text(c->values) + ")";
  if (const auto* r = std::get_if<IntRange>(&domain)) {
    std::string text = "int(" + list_text({r->lo, r->hi});
    if (r->step != 1) text += ", " + value_text(r->step);
    return text + (r->log ? ", log)" : ")");
  }
  const auto& f = std::get<FloatRange>(domain);
  if (f.quant != 0) return "quant(" + list_text({f.lo, f.hi, f.quant}) + (f.log ? ", log)" : ")");
  return (f.log ? "log(" : "range(") + list_text({f.lo, f.hi}) + ")";
}

}  // namespace lanista::space
