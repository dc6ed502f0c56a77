#include "lanista/search/study/record_fields.h"

#include <limits>

#include "lanista/base/real_json.h"

namespace lanista::study::fields {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const char* name, const std::string& what) {
  throw Malformed{"'" + std::string(name) + "' " + what};
}

}  // namespace

const json& member(const json& object, const char* name) {
  if (!object.is_object()) throw Malformed{"not an object where one with '" + std::string(name) + "' is expected"};
  const auto it = object.find(name);
  if (it == object.end()) refuse(name, "is missing");
  return *it;
}

const json& array(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_array()) refuse(name, "is not a list");
  return value;
}

std::int64_t integer(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_number_integer()) refuse(name, "is not a whole number");
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    refuse(name, "does not fit into 64 bits");
  }
  return value.get<std::int64_t>();
}

double real(const json& object, const char* name) {
  const auto value = parse_real_json(member(object, name));
  if (!value) refuse(name, "is not a number");
  return *value;
}

bool flag(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_boolean()) refuse(name, "is neither true nor false");
  return value.get<bool>();
}

namespace {

const std::string& text_in(const json& object, const char* name) {
  const json& value = member(object, name);
  if (!value.is_string()) refuse(name, "is not a text");
  return value.get_ref<const std::string&>();
}

}  // namespace

std::string text(const json& object, const char* name) { return text_in(object, name); }

TrialId trial(const json& object, const char* name) {
  const std::int64_t value = integer(object, name);
  if (value < 1 || value > std::numeric_limits<std::uint32_t>::max()) {
    refuse(name, "is " + std::to_string(value) + ", not a trial's number");
  }
  return TrialId{static_cast<std::uint32_t>(value)};
}

Digest digest(const json& object, const char* name) {
  const auto value = Digest::from_hex(text_in(object, name));
  if (!value) refuse(name, "is not a hash");
  return *value;
}

json metrics_json(const std::map<std::string, double>& metrics) {
  json out = json::object();
  for (const auto& [name, value] : metrics) out[name] = real_json(value);
  return out;
}

std::map<std::string, double> metrics(const json& object, const char* name, std::int64_t* nulls) {
  const json& all = member(object, name);
  if (!all.is_object()) refuse(name, "is not an object");
  std::map<std::string, double> out;
  for (const auto& [metric, value] : all.items()) {
    if (value.is_null() && nulls) ++*nulls;
    const auto number = value.is_null() ? std::numeric_limits<double>::quiet_NaN() : parse_real_json(value);
    if (!number) throw Malformed{"metric '" + metric + "' is not a number"};
    out[metric] = *number;
  }
  return out;
}

}  // namespace lanista::study::fields
