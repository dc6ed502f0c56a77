#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "lanista/base/options.h"

namespace lanista {

// Options of plug-ins, each in one line.

/// Defines an option of any kind with a default value; null: the option must be given.
inline OptionSpec option(const char* name, OptionSpec::Kind kind, nlohmann::json value, const char* help) {
  OptionSpec spec;
  spec.name = name;
  spec.kind = kind;
  spec.default_value = std::move(value);
  spec.help = help;
  return spec;
}
/// Defines a number from `min` to `max`, both included: kInt, kReal, or a list of them with these limits for each
/// element.
inline OptionSpec number_option(const char* name, OptionSpec::Kind kind, nlohmann::json value, double min, double max,
                                const char* help) {
  OptionSpec spec = option(name, kind, std::move(value), help);
  spec.min = min;
  spec.max = max;
  return spec;
}
/// Defines an integer from `min` to 1e9.
inline OptionSpec count_option(const char* name, nlohmann::json value, double min, const char* help) {
  return number_option(name, OptionSpec::Kind::kInt, std::move(value), min, 1e9, help);
}
/// Defines an option that is true or false.
inline OptionSpec flag_option(const char* name, bool value, const char* help) {
  return option(name, OptionSpec::Kind::kBool, value, help);
}
/// Defines a text option: one of `allowed`, or any text if `allowed` is empty.
inline OptionSpec text_option(const char* name, const char* value, const char* help,
                              std::vector<std::string> allowed = {}) {
  OptionSpec spec = option(name, OptionSpec::Kind::kText, value, help);
  spec.allowed = std::move(allowed);
  return spec;
}

}  // namespace lanista
