#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lanista {

/// Returns the CRC-32C (Castagnoli) of `data`, continued from `crc`, the checksum of the bytes before.
/// crc32c("123456789") == 0xE3069283.
std::uint32_t crc32c(std::span<const std::byte> data, std::uint32_t crc = 0);

/// Returns the CRC-32C of `data`, continued from `crc`, without special instructions. crc32c() calls it on processors
/// that have none.
std::uint32_t crc32c_table(std::span<const std::byte> data, std::uint32_t crc = 0);

}  // namespace lanista
