#include "lanista/base/utf8.h"

#include <array>

namespace lanista {
namespace {

/// A row of table 3-7: range of the first byte, range of the second byte, number of bytes.
struct Form {
  unsigned char first_lo, first_hi, second_lo, second_hi;
  std::size_t bytes;
};
constexpr std::array<Form, 9> kForms = {{{0x00, 0x7F, 0, 0, 1},
                                         {0xC2, 0xDF, 0x80, 0xBF, 2},
                                         {0xE0, 0xE0, 0xA0, 0xBF, 3},
                                         {0xE1, 0xEC, 0x80, 0xBF, 3},
                                         {0xED, 0xED, 0x80, 0x9F, 3},
                                         {0xEE, 0xEF, 0x80, 0xBF, 3},
                                         {0xF0, 0xF0, 0x90, 0xBF, 4},
                                         {0xF1, 0xF3, 0x80, 0xBF, 4},
                                         {0xF4, 0xF4, 0x80, 0x8F, 4}}};

/// Bytes of the character at the beginning of `text`; 0 if there is none.
std::size_t character_bytes(std::string_view text) {
  const auto within = [&](std::size_t i, unsigned char lo, unsigned char hi) {
    const auto byte = static_cast<unsigned char>(text[i]);
    return lo <= byte && byte <= hi;
  };
  for (const Form& form : kForms) {
    if (!within(0, form.first_lo, form.first_hi)) continue;
    if (form.bytes > text.size()) return 0;
    if (form.bytes > 1 && !within(1, form.second_lo, form.second_hi)) return 0;
    for (std::size_t i = 2; i < form.bytes; ++i) {
      if (!within(i, 0x80, 0xBF)) return 0;
    }
    return form.bytes;
  }
  return 0;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(at));
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

}  // namespace lanista
