#include "lanista/base/json_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace lanista {
namespace {

using nlohmann::json;

bool is_plain(char c) { return c >= 0x20 && c <= 0x7e && c != '"' && c != '\\'; }  // a byte above 0x7f is below 0 here

void append(const json& value, std::string& out);

void append_text(const std::string& text, std::string& out) {
  if (!std::ranges::all_of(text, is_plain)) {
    out += json(text).dump(-1, ' ', false, json::error_handler_t::replace);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

template <class Number>
void append_number(Number number, std::string& out) {
  char digits[32];  // 24 are the most, of a double
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  const std::string_view text(digits, static_cast<std::size_t>(end - digits));
  out += text;
  if constexpr (std::is_floating_point_v<Number>) {
    if (text.find_first_of(".e") == std::string_view::npos) out += ".0";  // else it would be read as an integer
  }
}

void append_list(const json& list, std::string& out) {
  out += '[';
  bool first = true;
  for (const json& each : list) {
    if (!std::exchange(first, false)) out += ',';
    append(each, out);
  }
  out += ']';
}

void append_object(const json& object, std::string& out) {
  out += '{';
  bool first = true;
  for (const auto& [name, each] : object.get_ref<const json::object_t&>()) {
    if (!std::exchange(first, false)) out += ',';
    append_text(name, out);
    out += ':';
    append(each, out);
  }
  out += '}';
}

void append(const json& value, std::string& out) {
  switch (value.type()) {
    case json::value_t::object:
      return append_object(value, out);
    case json::value_t::array:
      return append_list(value, out);
    case json::value_t::string:
      return append_text(value.get_ref<const std::string&>(), out);
    case json::value_t::number_integer:
      return append_number(value.get_ref<const json::number_integer_t&>(), out);
    case json::value_t::number_unsigned:
      return append_number(value.get_ref<const json::number_unsigned_t&>(), out);
    case json::value_t::number_float: {
      const double number = value.get_ref<const double&>();
      if (std::isfinite(number)) return append_number(number, out);
      out += "null";
      return;
    }
    default:  // null, booleans, and binary values
      out += value.dump();
  }
}

}  // namespace

std::string json_text(const json& value) {
  std::string out;
  append(value, out);
  return out;
}

}  // namespace lanista
