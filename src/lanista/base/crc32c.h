#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanista {

/// CRC-32C (Castagnoli) of `data`, continuing from `crc`. crc32c("123456789") == 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

/// CRC-32C of `data`, continuing from `crc`, without special instructions. crc32c() calls it where the processor has
/// none.
std::uint32_t crc32c_table(std::span<const std::byte> data, std::uint32_t crc = 0);

}  // namespace lanista
