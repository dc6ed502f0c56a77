#include "lanista/base/printable.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "lanista/base/utf8.h"

namespace lanista {
namespace {

struct Range {
  std::uint32_t first, last;
};

constexpr std::array<Range, 9> kControlCharacters{{{0x00, 0x1f},
                                          {0x7f, 0x9f},
                                          {0x61c, 0x61c},
                                          {0x200b, 0x200f},
                                          {0x2028, 0x202e},
                                          {0x2060, 0x206f},
                                          {0xfeff, 0xfeff},
                                          {0xfff9, 0xfffb},
                                          {0xe0000, 0xe0fff}}};
constexpr std::array<Range, 9> kCombining{{{0x300, 0x36f},
                                           {0x483, 0x489},
                                           {0x591, 0x5bd},
                                           {0x64b, 0x65f},
                                           {0x1ab0, 0x1aff},
                                           {0x1dc0, 0x1dff},
                                           {0x20d0, 0x20ff},
                                           {0xfe00, 0xfe0f},
                                           {0xfe20, 0xfe2f}}};
constexpr std::array<Range, 12> kWide{{{0x1100, 0x115f},
                                       {0x2e80, 0x303e},
                                       {0x3041, 0x33ff},
                                       {0x3400, 0x4dbf},
                                       {0x4e00, 0xa4cf},
                                       {0xa960, 0xa97c},
                                       {0xac00, 0xd7a3},
                                       {0xf900, 0xfaff},
                                       {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},
                                       {0x1f300, 0x1f9ff},
                                       {0x20000, 0x3fffd}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return range.first <= code && code <= range.last; });
}

/// The character at `at` and its number of bytes. If they are not UTF-8, it is one byte and `valid` is false.
struct Character {
  std::uint32_t code;
  std::size_t bytes;
  bool valid;
};
Character character_at(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return {first, 1, true};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (find_invalid_utf8(text.substr(at, bytes)) != std::string_view::npos || at + bytes > text.size())
    return {0, 1, false};
  std::uint32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3fU);
  return {code, bytes, true};
}

std::size_t width_of(const Character& c) { return is_in(kCombining, c.code) ? 0 : is_in(kWide, c.code) ? 2 : 1; }

/// One line of at most `most` columns.
std::string line_of(std::string_view text, std::size_t most) {
  std::string out;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    const bool shown = c.valid && !is_in(kControlCharacters, c.code);
    columns += shown ? width_of(c) : 1;
    if (columns > most) return out + "…";
    out += shown ? text.substr(at, c.bytes) : "?";
    at += c.bytes;
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return line_of(text, std::string::npos); }

std::string printable_lines(std::string_view text, std::size_t max_lines, std::size_t max_columns) {
  std::string out;
  for (std::size_t line = 0;; ++line) {
    if (line == max_lines) return out + "… and " + std::to_string(std::ranges::count(text, '\n') + 1) + " lines more";
    const auto end = text.find('\n');
    out += line_of(text.substr(0, end), max_columns);
    if (end == std::string_view::npos) return out;
    out += '\n';
    text.remove_prefix(end + 1);
  }
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Character c = character_at(text, at);
    columns += c.valid ? width_of(c) : 1;
    at += c.bytes;
  }
  return columns;
}

}  // namespace lanista
