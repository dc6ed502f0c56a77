#include "lanista/io/formats/cpp_export/cpp_text.h"

#include <array>
#include <charconv>
#include <cmath>

#include "lanista/base/check.h"

namespace lanista::formats {
namespace {

bool is_name(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

template <class T>
std::string hex(T value) {
  LANISTA_CHECK(std::isfinite(value), "a literal for what is not finite");
  std::array<char, 64> buffer{};
  const T magnitude = std::abs(value);
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude, std::chars_format::hex).ptr;
  return (std::signbit(value) ? "-0x" : "0x") + std::string(buffer.data(), end);
}

}  // namespace

std::string cpp_fill(std::string_view text, const CppValues& values) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != '$') {
      out += text[i++];
      continue;
    }
    std::size_t end = ++i;
    while (end < text.size() && is_name(text[end])) ++end;
    const auto found = values.find(text.substr(i, end - i));
    LANISTA_CHECK(found != values.end(), "a template asks for $" + std::string(text.substr(i, end - i)));
    out += found->second;
    i = end;
  }
  return out;
}

std::string cpp_indent(std::string_view text, std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (text.front() != '\n') out.append(columns, ' ');
    out += text.substr(0, end);
    text.remove_prefix(end);
  }
  return out;
}

std::string cpp_loops(const std::vector<std::int64_t>& dims, std::string_view body) {
  std::string out, close;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::string counter = "i" + std::to_string(i);
    out += cpp_indent(
        "for (Index " + counter + " = 0; " + counter + " < " + std::to_string(dims[i]) + "; ++" + counter + ") {\n",
        2 * i);
    close = cpp_indent("}\n", 2 * i) + close;
  }
  return out + cpp_indent(body, 2 * dims.size()) + close;
}

std::string cpp_hex(float value) { return hex(value) + "f"; }

std::string cpp_hex(double value) { return hex(value); }

std::string cpp_float(double value) {
  const auto nearest = static_cast<float>(value);
  LANISTA_CHECK(std::isfinite(nearest), "a literal for what is not finite");
  std::array<char, 64> buffer{};
  std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), nearest).ptr);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

// Octal escapes end after three digits, whatever follows. A question mark could begin a trigraph.
std::string cpp_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '"' && c != '\\' && c != '?') {
      out += c;
      continue;
    }
    out += '\\';
    for (int shift = 6; shift >= 0; shift -= 3) out += static_cast<char>('0' + (byte >> shift & 7));
  }
  return out + '"';
}

}  // namespace lanista::formats
