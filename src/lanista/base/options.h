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
  /// The type of the value. kMap: from names to values of any kind, or lists of them; the plug-in checks its content.
  enum class Kind { kBool, kInt, kReal, kText, kIntList, kRealList, kTextList, kMap, kMapList };
  std::string name;                  ///< its key
  Kind kind = Kind::kInt;            ///< the type of its value
  nlohmann::json default_value;      ///< null: the option must be given
  std::optional<double> min, max;    ///< inclusive; for lists: of each element
  std::vector<std::string> allowed;  ///< texts; empty: any. For kInt: words that may replace a number
  std::string help;                  ///< one sentence for the user
  bool omits_default = false;        ///< whether resolved options omit it where it has its default
};

/// A validated set of option values. It has every option of the schema, except those with `omits_default`.
using Options = nlohmann::json;

/// Adds defaults and checks every value. Errors: kInvalidArgument (the value, what is allowed; for an unknown name the
/// nearest known one); `where` is the option's name.
Result<Options> resolve_options(const nlohmann::json& given, const std::vector<OptionSpec>& schema);

}  // namespace lanista
