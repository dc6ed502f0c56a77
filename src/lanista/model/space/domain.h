#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/digest.h"
#include "lanista/base/result.h"
#include "lanista/base/variant.h"

namespace lanista::space {

/// A hyper-parameter's value.
using Value = Variant<bool, std::int64_t, double, std::string>;
std::string value_text(const Value& value);  ///< short, round-trips numbers
nlohmann::json value_json(const Value& value);
Result<Value> value_from_json(const nlohmann::json& json);

struct Categorical {
  std::vector<Value> values;  ///< at least one, distinct
  bool operator==(const Categorical&) const = default;
};
/// lo, lo + step, …, at most hi; `log`: uniform in the logarithm.
struct IntRange {
  std::int64_t lo = 0, hi = 0, step = 1;
  bool log = false;
  bool operator==(const IntRange&) const = default;
};
/// [lo, hi]; `log`: exp(U(ln lo, ln hi)); `quant` > 0: rounded to multiples of it inside the bounds.
struct FloatRange {
  double lo = 0, hi = 1, quant = 0;
  bool log = false;
  bool operator==(const FloatRange&) const = default;
};
using Domain = std::variant<Categorical, IntRange, FloatRange>;

/// Checks bounds (lo <= hi, log needs lo > 0, …). Errors: kInvalidArgument with the values seen.
Result<void> check_domain(const Domain& domain);
/// Number of distinct values; nullopt if continuous.
std::optional<std::int64_t> domain_size(const Domain& domain);
/// The i-th value of a countable domain, or of a continuous one cut into `of` equal steps (in the log for log domains).
Value domain_value(const Domain& domain, std::int64_t i, std::int64_t of);
bool domain_contains(const Domain& domain, const Value& value);
/// The domain's value that a plain JSON value stands for, whole numbers being reals and the other way round where the
/// domain wants it; nullopt: it has none.
std::optional<Value> value_in(const Domain& domain, const nlohmann::json& json);
std::string domain_text(const Domain& domain);  ///< "log(0.001, 0.5)"; the study file's own notation

/// A parameter that exists always, or only next to certain values of others.
struct Parameter {
  /// One way to exist: another parameter, declared before, has one of these values.
  struct Condition {
    std::string parameter;
    std::vector<Value> values;
    bool operator==(const Condition&) const = default;
  };
  std::string name;
  Domain domain;
  std::vector<Condition> when;  ///< one of them must hold; empty: it exists always
  bool operator==(const Parameter&) const = default;
};

/// The names of the choices inside a model begin so in a study's samples ("model.depth"), which keeps them apart from
/// hyper-parameters: they say which model it is, not how it is trained.
inline constexpr std::string_view kModelPrefix = "model.";
inline bool is_model_choice(std::string_view name) { return name.starts_with(kModelPrefix); }

/// The active parameters of one trial and their values, by name.
using Sample = std::map<std::string, Value>;
/// Whether a parameter exists next to the values of those declared before it.
bool is_active(const Parameter& parameter, const Sample& seen);
Digest hash_sample(const Sample& sample);
nlohmann::json sample_json(const Sample& sample);
Result<Sample> sample_from_json(const nlohmann::json& json);

class Chooser;

/// What may vary beside the model. Parameters in order of declaration; the same name may stand several times under
/// conditions that exclude each other (lr of sgd, lr of adam).
class SearchSpace {
 public:
  /// Errors: kInvalidArgument (bad domain, condition on an unknown parameter, the same name active twice).
  Result<void> add(Parameter parameter);
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Draws the active parameters through `choose`, in order of declaration.
  Sample draw(Chooser& choose) const;
  /// Whether every active parameter, and nothing else, has a value inside its domain.
  Result<void> check(const Sample& sample) const;
  /// Number of distinct samples, exact up to 2^53; nullopt if any domain is continuous.
  std::optional<double> size() const;
  /// The most samples that have the same parameters, continuous domains counted as `grain` values: an upper bound of
  /// the indices of a GridChooser.
  double largest_branch(std::int64_t grain) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace lanista::space
