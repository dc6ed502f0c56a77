#include "lanista/model/graph/attr.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>

namespace lanista::graph {
namespace {

std::string real_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  // A real without a point would be read as an integer.
  if (std::isfinite(value) && text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string in_quotes(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string attr_text(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) {
          return v ? "true" : "false";
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return std::to_string(v);
        } else if constexpr (std::is_same_v<T, double>) {
          return real_text(v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return in_quotes(v);
        } else {
          std::string out = "[";
          for (std::size_t i = 0; i < v.size(); ++i) out += (i == 0 ? "" : ",") + std::to_string(v[i]);
          return out + "]";
        }
      },
      value);
}

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> items) {
  for (const auto& [name, value] : items) set(name, value);
}

const AttrValue* Attrs::find(std::string_view name) const {
  const auto at = std::lower_bound(items_.begin(), items_.end(), name,
                                   [](const auto& item, std::string_view wanted) { return item.first < wanted; });
  return at != items_.end() && at->first == name ? &at->second : nullptr;
}

void Attrs::set(std::string_view name, AttrValue value) {
  const auto at = std::lower_bound(items_.begin(), items_.end(), name,
                                   [](const auto& item, std::string_view wanted) { return item.first < wanted; });
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
}

void Attrs::erase(std::string_view name) {
  std::erase_if(items_, [&](const auto& item) { return item.first == name; });
}

}  // namespace lanista::graph
