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

/// The value of a hyper-parameter or of a choice.
using Value = Variant<bool, std::int64_t, double, std::string>;
/// Returns a value as text. Numbers round-trip.
std::string value_text(const Value& value);
/// Returns a value as JSON. A real keeps its type: reading the JSON gives a real again.
nlohmann::json value_json(const Value& value);
/// Reads a value from JSON. Errors: kInvalidArgument for null, lists, objects and integers beyond 64 bits.
Result<Value> value_from_json(const nlohmann::json& json);

/// A domain of listed values.
struct Categorical {
  std::vector<Value> values;  ///< at least one, all distinct
  bool operator==(const Categorical&) const = default;
};
/// A domain of integers: lo, lo + step, …, at most hi.
struct IntRange {
  std::int64_t lo = 0;    ///< first value
  std::int64_t hi = 0;    ///< upper bound
  std::int64_t step = 1;  ///< distance of neighbouring values
  bool log = false;       ///< sampled uniformly in the logarithm
  bool operator==(const IntRange&) const = default;
};
/// A domain of real numbers in [lo, hi].
struct FloatRange {
  double lo = 0;     ///< lower bound
  double hi = 1;     ///< upper bound
  double quant = 0;  ///< above 0: only multiples of this number
  bool log = false;  ///< sampled uniformly in the logarithm
  bool operator==(const FloatRange&) const = default;
};
/// The set of possible values of a parameter.
using Domain = std::variant<Categorical, IntRange, FloatRange>;

/// Checks that a domain is valid: lo <= hi, lo > 0 if `log`, and so on. Errors: kInvalidArgument with the values.
Result<void> check_domain(const Domain& domain);
/// The number of distinct values, or no value if the domain is continuous.
std::optional<std::int64_t> domain_size(const Domain& domain);
/// Value number `i` of a countable domain. Of a continuous domain, value number `i` of `of` values at equal distances
/// from lo to hi, in the logarithm for log domains.
Value domain_value(const Domain& domain, std::int64_t i, std::int64_t of);
/// Whether a value, with its type, is in the domain.
bool domain_contains(const Domain& domain, const Value& value);
/// Converts a JSON value to a value of the domain, or no value if the domain lacks it. An integer becomes a real, and a
/// whole real an integer, if the domain needs it.
std::optional<Value> value_in(const Domain& domain, const nlohmann::json& json);
/// Returns a domain in the notation of study files, such as "log(0.001, 0.5)".
std::string domain_text(const Domain& domain);

/// A parameter of a search space, which may depend on the values of other parameters.
struct Parameter {
  /// A condition: a parameter that is declared before has one of these values.
  struct Condition {
    std::string parameter;      ///< name of the other parameter
    std::vector<Value> values;  ///< values under which the condition holds
    bool operator==(const Condition&) const = default;
  };
  std::string name;             ///< name in samples
  Domain domain;                ///< possible values
  std::vector<Condition> when;  ///< active if one of them holds; empty: always active
  bool operator==(const Parameter&) const = default;
};

/// The prefix of the names of model choices in samples, such as "model.depth". Model choices select the model;
/// hyper-parameters select how it is trained.
inline constexpr std::string_view kModelPrefix = "model.";
/// Whether a parameter of a sample is a model choice.
inline bool is_model_choice(std::string_view name) { return name.starts_with(kModelPrefix); }

/// The active parameters of one trial with their values, by name.
using Sample = std::map<std::string, Value>;
/// Whether a parameter is active, given the values of the parameters that are declared before it.
bool is_active(const Parameter& parameter, const Sample& seen);
/// Returns a hash of the names and values of a sample.
Digest hash_sample(const Sample& sample);
/// Returns a sample as a JSON object.
nlohmann::json sample_json(const Sample& sample);
/// Reads a sample from a JSON object. Errors: kInvalidArgument.
Result<Sample> sample_from_json(const nlohmann::json& json);

class Chooser;

/// A search space: parameters in order of declaration.
///
/// A name may be declared several times if its conditions exclude each other, such as lr of sgd and lr of adam.
class SearchSpace {
 public:
  /// Adds a parameter. Errors: kInvalidArgument for an invalid domain, a condition on an unknown parameter, or a name
  /// that could be active twice.
  Result<void> add(Parameter parameter);
  /// All parameters, in order of declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Asks `choose` for the value of each active parameter, in order of declaration, and returns the sample.
  Sample sample(Chooser& choose) const;
  /// Checks that a sample has exactly the active parameters, with values of their domains.
  Result<void> check(const Sample& sample) const;
  /// The number of distinct samples, exact up to 2^53. No value if a domain is continuous.
  std::optional<double> size() const;
  /// The largest number of grid points in one branch, which bounds the index of a `GridChooser`.
  ///
  /// A branch has one set of active parameters. Continuous domains count as `grain` values.
  double largest_branch(std::int64_t grain) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace lanista::space
