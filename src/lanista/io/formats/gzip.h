#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

/// Compressed data may grow by this factor, or to 1 MiB if that is more. More counts as an attack.
inline constexpr std::uint64_t kMaxCompressionRatio = 200;

/// Whether the bytes begin as a gzip file.
bool is_gzip(std::string_view bytes);

/// Unpacks a gzip file with all its members. A first pass measures the size and stores nothing.
/// Errors: kDataLoss (damaged, cut off, trailing bytes, wrong checksum); kResourceExhausted (more than `max_bytes`, or
/// more than kMaxCompressionRatio times the packed bytes).
Result<std::string> gunzip(std::string_view bytes, std::uint64_t max_bytes);

}  // namespace lanista::formats
