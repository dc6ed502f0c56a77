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
/// Returns a value as text. Reading a number from the text gives the same number. A real number without fraction has
/// the text of an integer, and a text is not quoted.
std::string value_text(const Value& value);
/// Returns a value as JSON. A real number stays real: value_from_json() gives a real again.
nlohmann::json value_json(const Value& value);
/// Reads a value from JSON. Errors: kInvalidArgument for null, lists, objects and integers beyond 64 bits.
Result<Value> value_from_json(const nlohmann::json& json);

/// A domain of listed values, of any types.
struct Categorical {
  std::vector<Value> values;  ///< at least one, all distinct
  bool operator==(const Categorical&) const = default;
};
/// A domain of the integers lo, lo + step, lo + 2 step, …, up to `hi`.
struct IntRange {
  std::int64_t lo = 0;    ///< smallest value
  std::int64_t hi = 0;    ///< upper bound, inclusive
  std::int64_t step = 1;  ///< distance of neighbouring values, at least 1
  bool log = false;       ///< true: uniform in the logarithm; false: uniform
  bool operator==(const IntRange&) const = default;
};
/// A domain of real numbers in [lo, hi].
struct FloatRange {
  double lo = 0;     ///< lower bound, inclusive
  double hi = 1;     ///< upper bound, inclusive
  double quant = 0;  ///< above 0: only values of a grid with this step; 0: all numbers
  bool log = false;  ///< true: uniform in the logarithm; false: uniform.
  /// True: the grid has lo, lo + quant, lo + 2 quant, …, each the real number nearest to the decimal one. False: the
  /// grid has the multiples of quant between the bounds, as in studies with the first rules (study::kFirstRules).
  bool from_lo = false;
  bool operator==(const FloatRange&) const = default;
};
/// The set of possible values of a parameter.
using Domain = std::variant<Categorical, IntRange, FloatRange>;

/// Checks that a domain is valid: it has at least one value, distinct finite values, lo <= hi, bounds are finite, and
/// lo > 0 if `log`. A step is at least 1, and an integer range is narrower than 2^62. A quantum is not negative, not
/// too small for the bounds, and has a value in the range. Errors: kInvalidArgument with the domain and the rule.
Result<void> check_domain(const Domain& domain);
/// The number of distinct values, or no value if the domain is continuous with lo < hi.
std::optional<std::int64_t> domain_size(const Domain& domain);
/// Value number `i` (from 0) of a countable domain, which ignores `of`. Of a continuous domain, value number `i` of
/// `of` values at equal distances from lo to hi, in the logarithm for log domains. A single value is the middle. An
/// index out of range is a bug of the caller.
Value domain_value(const Domain& domain, std::int64_t i, std::int64_t of);
/// True if the domain contains a value of this type. The integer 1 is not in a domain of reals.
bool domain_contains(const Domain& domain, const Value& value);
/// Converts a JSON value to a value of the domain; no value if the domain lacks it. If the domain needs it, an integer
/// becomes the nearest real number, and a real number without fraction an integer, if it is below 2^53 in magnitude.
/// A real number that differs from a value of the domain by rounding, one part in 10^9, gives that value.
std::optional<Value> value_in(const Domain& domain, const nlohmann::json& json);
/// Returns a domain in the notation of study files, such as "log(0.001, 0.5)".
std::string domain_text(const Domain& domain);

/// A parameter of a search space. It may depend on the values of other parameters.
struct Parameter {
  /// A condition: a parameter that is declared earlier has one of these values.
  struct Condition {
    std::string parameter;      ///< name of the earlier parameter
    std::vector<Value> values;  ///< values under which the condition holds
    bool operator==(const Condition&) const = default;
  };
  std::string name;             ///< name in hyper-parameter samples
  Domain domain;                ///< possible values
  std::vector<Condition> when;  ///< active if at least one condition holds; empty: always active
  bool operator==(const Parameter&) const = default;
};

/// The prefix of the names of model choices in samples, such as "model.depth". Model choices select the model;
/// hyper-parameters select how it is trained.
inline constexpr std::string_view kModelPrefix = "model.";
/// True if a parameter of a sample is a model choice, by the prefix of its name.
inline bool is_model_choice(std::string_view name) { return name.starts_with(kModelPrefix); }

/// A hyper-parameter sample: the active parameters of one trial with their values, by name.
using Sample = std::map<std::string, Value>;
/// True if a parameter is active. `seen` has the values of the active parameters that are declared before it.
bool is_active(const Parameter& parameter, const Sample& seen);
/// Returns a hash of the names and values of a sample. A real and an integer of equal value differ.
Digest hash_sample(const Sample& sample);
/// Returns a sample as a JSON object from name to value.
nlohmann::json sample_json(const Sample& sample);
/// Reads a sample from the JSON of `sample_json`. Errors: kInvalidArgument for anything else.
Result<Sample> sample_from_json(const nlohmann::json& json);

class Chooser;

/// A search space: parameters in order of declaration.
///
/// A name may be declared several times if its conditions exclude each other, such as lr of sgd and lr of adam.
class SearchSpace {
 public:
  /// Adds a parameter at the end. Errors: kInvalidArgument for an empty name, an invalid domain, a condition that
  /// cannot hold, or a name that could be active twice. `where` is the name.
  Result<void> add(Parameter parameter);
  /// All parameters, in order of declaration.
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Asks `choose` for the value of each active parameter, in order of declaration, and returns the sample. The label
  /// of a question is the name.
  Sample sample(Chooser& choose) const;
  /// Checks that a sample has exactly the active parameters, with values of their domains. Errors: kInvalidArgument;
  /// `where` is the name.
  Result<void> check(const Sample& sample) const;
  /// The number of distinct samples, exact up to 2^53. No value if a domain is continuous with lo < hi.
  std::optional<double> size() const;
  /// The number of grid points of the largest branch of the space. A GridChooser with this index or a larger one has no
  /// point left, whichever branch its choices lead to. So an enumeration of the grid may end there.
  ///
  /// A branch is the set of samples with the same active parameters. It counts as the product of the sizes of their
  /// whole domains, also if only some values of a domain lead to it. A continuous domain counts as `grain` values.
  double largest_branch(std::int64_t grain) const;

 private:
  std::vector<Parameter> parameters_;
};

}  // namespace lanista::space
