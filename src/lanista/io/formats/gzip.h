#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

/// Compressed data may grow this much, or to 1 MiB if that is more; beyond, it is a bomb.
inline constexpr std::uint64_t kMaxCompressionRatio = 200;

bool is_gzip(std::string_view bytes);

/// Unpacks a gzip file (all members). Measured before anything is allocated, in a first pass that keeps nothing.
/// Errors: kDataLoss (damaged, cut off, trailing bytes, wrong checksum); kResourceExhausted (more than `max_bytes`, or
/// more than kMaxCompressionRatio times what went in).
Result<std::string> gunzip(std::string_view bytes, std::uint64_t max_bytes);

}  // namespace lanista::formats
