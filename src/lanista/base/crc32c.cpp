#include "lanista/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace lanista {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    table[i] = crc;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) std::uint32_t crc32c_sse42(std::span<const std::byte> data, std::uint32_t crc) {
  std::uint64_t state = ~crc;
  std::size_t i = 0;
  for (; i + 8 <= data.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + i, 8);
    state = _mm_crc32_u64(state, word);
  }
  auto rest = static_cast<std::uint32_t>(state);
  for (; i < data.size(); ++i) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(data[i]));
  return ~rest;
}
#endif

}  // namespace

std::uint32_t crc32c_table(std::span<const std::byte> data, std::uint32_t crc) {
  crc = ~crc;
  for (const std::byte b : data) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint32_t>(b)) & 255];
  return ~crc;
}

std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2") != 0) return crc32c_sse42(data, crc);
#endif
  return crc32c_table(data, crc);
}

}  // namespace lanista
