#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "lanista/base/result.h"

namespace lanista {

/// One option that a plug-in (mutator, strategy, stopping rule, schedule …) understands. From these the study-file
/// reader, the JSON Schema and the help texts are made.
struct OptionSpec {
  /// kMap: from names to values of any kind, or lists of them; what may stand in it says the plug-in.
  enum class Kind { kBool, kInt, kReal, kText, kIntList, kRealList, kTextList, kMap, kMapList };
  std::string name;
  Kind kind = Kind::kInt;
  nlohmann::json default_value;      ///< null: the option must be given
  std::optional<double> min, max;    ///< inclusive; for lists: of each element
  std::vector<std::string> allowed;  ///< texts; empty: any. Of kInt: words that may stand in the place of a number
  std::string help;
  bool omits_default = false;  ///< resolved options leave it out where it has its default
};

/// A validated set of option values: every option of the schema is present, but for silent defaults.
using Options = nlohmann::json;

/// Fills defaults and checks every value. Errors: kInvalidArgument (value seen, what is allowed; unknown names with the
/// nearest known one); `where` is the option's name.
Result<Options> resolve_options(const nlohmann::json& given, const std::vector<OptionSpec>& schema);

}  // namespace lanista
