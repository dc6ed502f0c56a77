#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

namespace lanista {

/// One option of a plug-in (mutator, strategy, stopping rule, schedule and so on). The study-file reader, the JSON
/// Schema and the help texts are made from these.
struct OptionSpec {
  /// The type of the value. kMap: an object from names to any values, and kMapList a list of them, which the plug-in
  /// checks.
  enum class Kind { kBool, kInt, kReal, kText, kIntList, kRealList, kTextList, kMap, kMapList };
  std::string name;                  ///< key in study files
  Kind kind = Kind::kInt;            ///< type of the value
  nlohmann::json default_value;      ///< null: the option must be given
  std::optional<double> min, max;    ///< inclusive limits of numbers; for lists: of each element
  std::vector<std::string> allowed;  ///< possible texts; empty: any. For kInt and kIntList: texts in place of a number
  std::string help;                  ///< one sentence for users
  bool omits_default = false;        ///< true: resolve_options() leaves it out at its default
};

/// Option values by name, as resolve_options() returns them: every option of the schema, except defaults with
/// `omits_default`.
using Options = nlohmann::json;

/// Returns the given values, checked, together with the defaults of the options that are not given. `given` is an
/// object, or null for no values. Numbers of kReal become doubles. Errors: kInvalidArgument for an unknown or missing
/// option or a value that is not allowed; the message has what is allowed or the nearest name. `where` is the name of
/// the option, empty if `given` is no object. A default that its own limits do not allow is a bug.
Result<Options> resolve_options(const nlohmann::json& given, const std::vector<OptionSpec>& schema);

}  // namespace lanista
