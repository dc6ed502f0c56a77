#include "lanista/app/report/page_columns.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace lanista::report {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxNames = 4000;
constexpr std::uint64_t kAbsentBits = 0xfff8'0000'0000'0000;  // a NaN with the sign bit; its float is 0xffc00000
constexpr std::uint32_t kNotANumber = 0x7fc0'0000;

void put(std::string& out, std::uint32_t value, int width) {
  for (int byte = 0; byte < width; ++byte) out += static_cast<char>(value >> (8 * byte) & 0xff);
}

bool is_absent(double value) { return std::isnan(value) && std::signbit(value); }

std::uint32_t float_bits(double value, int width) {
  if (is_absent(value)) return 0xffc0'0000;
  if (std::isnan(value)) return kNotANumber;
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (width == 4 || std::isinf(static_cast<float>(value))) return bits;
  return bits + 0x80;  // rounds to nearest, since the lowest byte is removed; a carry into the exponent is correct
}

}  // namespace

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) out += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

json packed_integers(std::span<const std::int64_t> values) {
  const auto fit = [](std::int64_t value) { return std::clamp<std::int64_t>(value, 0, 0xffff'ffff); };
  if (!values.empty() && std::all_of(values.begin(), values.end(), [&](auto v) { return v == values.front(); })) {
    return {{"same", fit(values.front())}};
  }
  std::int64_t most = 0;
  for (const std::int64_t value : values) most = std::max(most, fit(value));
  const int width = most < 0x100 ? 1 : most < 0x1'0000 ? 2 : most < 0x100'0000 ? 3 : 4;
  std::string bytes;
  bytes.reserve(values.size() * static_cast<std::size_t>(width));
  for (const std::int64_t value : values) put(bytes, static_cast<std::uint32_t>(fit(value)), width);
  return {{"u", width}, {"d", base64(bytes)}};
}

double absent() { return std::bit_cast<double>(kAbsentBits); }

json packed_reals(std::span<const double> values, int width) {
  std::string bytes;
  bytes.reserve(values.size() * static_cast<std::size_t>(width));
  for (const double value : values) put(bytes, float_bits(value, width) >> (width == 3 ? 8 : 0), width);
  return {{"f", width}, {"d", base64(bytes)}};
}

json packed_names(std::span<const std::string> values, std::span<const std::string> known) {
  std::map<std::string, std::int64_t> index{{"", 0}};
  json names = json::array({""});
  const auto number = [&](const std::string& text) -> std::int64_t {
    if (const auto it = index.find(text); it != index.end()) return it->second;
    const bool full = names.size() >= kMaxNames;
    const std::string name = full ? "other" : clip_utf8(text, 200);
    const auto [it, added] = index.emplace(full ? name : text, static_cast<std::int64_t>(names.size()));
    if (added) names.push_back(name);
    return it->second;
  };
  for (const std::string& text : known) number(text);
  std::vector<std::int64_t> of;
  of.reserve(values.size());
  for (const std::string& text : values) of.push_back(number(text));
  return {{"names", std::move(names)}, {"of", packed_integers(of)}};
}

std::string script_json(const json& data) {
  // ASCII only. A "<" occurs only inside a string, where the escape has the same meaning.
  const std::string plain = data.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string out;
  out.reserve(plain.size());
  for (const char c : plain) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

std::string clip_utf8(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  std::size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace lanista::report
