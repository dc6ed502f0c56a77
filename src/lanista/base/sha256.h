#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lanista {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits, for contents that an attacker may have changed. O(bytes).
std::string sha256_hex(std::span<const std::byte> data);
std::string sha256_hex(std::string_view text);

}  // namespace lanista
