#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lanista {

/// Appends the lowest `bytes` bytes of `value` to `out`, the lowest byte first.
inline void put_little_endian(std::uint64_t value, std::size_t bytes, std::string& out) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 255));
}

/// Returns the number in the `count` bytes from index `at`, the lowest byte first. Precondition: `count` is at most 8,
/// and the bytes exist.
inline std::uint64_t get_little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

}  // namespace lanista
