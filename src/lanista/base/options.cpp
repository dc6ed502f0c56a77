#include "lanista/base/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/base/edit_distance.h"
#include "lanista/base/enum_table.h"

namespace lanista {

namespace {

/// A value as JSON for messages; a text may have bytes that are not UTF-8.
std::string shown(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

using Json = nlohmann::json;
using Kind = OptionSpec::Kind;

Error invalid(const OptionSpec& spec, const std::string& message) {
  return Error{Code::kInvalidArgument, message, spec.name};
}

std::string_view element_name(Kind kind) {
  static constexpr EnumTable<Kind, std::string_view, 9> kNames{{{Kind::kBool, "true or false"},
                                                                {Kind::kInt, "a whole number"},
                                                                {Kind::kIntList, "a whole number"},
                                                                {Kind::kReal, "a number"},
                                                                {Kind::kRealList, "a number"},
                                                                {Kind::kText, "a text"},
                                                                {Kind::kTextList, "a text"},
                                                                {Kind::kMap, "a map from names to values"},
                                                                {Kind::kMapList, "a map from names to values"}}};
  return entry_of(kNames, kind);
}

std::string number_text(double v) {
  // Bounds of whole-number options are doubles too. Users should read 3, not 3.0.
  if (v == std::nearbyint(v) && std::abs(v) < 1e15) return std::to_string(static_cast<std::int64_t>(v));
  return shown(v);
}

std::string bounds_text(const OptionSpec& spec) {
  if (spec.min && spec.max) return "between " + number_text(*spec.min) + " and " + number_text(*spec.max);
  return spec.min ? "at least " + number_text(*spec.min) : "at most " + number_text(*spec.max);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string with_nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest_name(word, candidates);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

Result<Json> check_number(const OptionSpec& spec, const Json& value) {
  const auto number = value.get<double>();
  if ((spec.min && number < *spec.min) || (spec.max && number > *spec.max)) {
    return invalid(spec, shown(value) + " is out of bounds; it must be " + bounds_text(spec));
  }
  return value;
}

Result<Json> check_element(const OptionSpec& spec, const Json& value) {
  const bool has_words = (spec.kind == Kind::kInt || spec.kind == Kind::kIntList) && !spec.allowed.empty();
  const Error wrong = invalid(spec, "expected " + std::string(element_name(spec.kind)) +
                                        (has_words ? " or " + joined(spec.allowed) : "") + ", not " + shown(value));
  switch (spec.kind) {
    case Kind::kBool:
      if (!value.is_boolean()) return wrong;
      return value;
    case Kind::kInt:
    case Kind::kIntList:
      if (value.is_string() && std::ranges::count(spec.allowed, value.get<std::string>()) > 0) {
        return value;  // a word in place of a number
      }
      if (!value.is_number_integer()) return wrong;
      if (value.is_number_unsigned() &&
          value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return invalid(spec, shown(value) + " does not fit into 64 bits");
      }
      return check_number(spec, value.get<std::int64_t>());
    case Kind::kReal:
    case Kind::kRealList:
      if (!value.is_number()) return wrong;
      if (!std::isfinite(value.get<double>())) return invalid(spec, "expected a finite number");
      return check_number(spec, value.get<double>());
    case Kind::kText:
    case Kind::kTextList: {
      if (!value.is_string()) return wrong;
      const auto& text = value.get_ref<const std::string&>();
      if (!spec.allowed.empty() && std::find(spec.allowed.begin(), spec.allowed.end(), text) == spec.allowed.end()) {
        return invalid(spec, "unknown value '" + text + "'" + with_nearest(text, spec.allowed) +
                                 " (allowed: " + joined(spec.allowed) + ")");
      }
      return value;
    }
    case Kind::kMap:
    case Kind::kMapList:
      if (!value.is_object()) return wrong;
      return value;
  }
  return wrong;
}

bool is_list(Kind kind) {
  return kind == Kind::kIntList || kind == Kind::kRealList || kind == Kind::kTextList || kind == Kind::kMapList;
}

Result<Json> check_value(const OptionSpec& spec, const Json& value) {
  if (!is_list(spec.kind)) return check_element(spec, value);
  if (!value.is_array()) {
    return invalid(spec,
                   "expected a list, each element " + std::string(element_name(spec.kind)) + ", not " + shown(value));
  }
  auto list = Json::array();
  for (const Json& item : value) {
    LANISTA_ASSIGN(Json element, check_element(spec, item));
    list.push_back(std::move(element));
  }
  return list;
}

}  // namespace

Result<Options> resolve_options(const Json& given, const std::vector<OptionSpec>& schema) {
  if (!given.is_null() && !given.is_object()) {
    return Error{Code::kInvalidArgument, "options must be a map from name to value, not " + shown(given), ""};
  }
  std::vector<std::string> names;
  for (const OptionSpec& spec : schema) names.push_back(spec.name);

  if (given.is_object()) {
    for (const auto& [name, value] : given.items()) {
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      return Error{Code::kInvalidArgument,
                   "unknown option '" + name + "'" + with_nearest(name, names) +
                       (names.empty() ? " (no options are known here)" : " (known: " + joined(names) + ")"),
                   name};
    }
  }

  auto options = Options::object();
  for (const OptionSpec& spec : schema) {
    const bool is_given = given.is_object() && given.contains(spec.name);
    if (!is_given && spec.default_value.is_null()) {
      return invalid(spec, "option '" + spec.name + "' must be given: expected " +
                               (is_list(spec.kind) ? "a list, each element " : "") +
                               std::string(element_name(spec.kind)));
    }
    auto checked = check_value(spec, is_given ? given[spec.name] : spec.default_value);
    LANISTA_CHECK(is_given || checked.ok(), "the default of option '" + spec.name + "' breaks its own rules");
    if (!checked) return std::move(checked).error();
    if (!spec.omits_default || *checked != spec.default_value) options[spec.name] = *std::move(checked);
  }
  return options;
}

}  // namespace lanista
