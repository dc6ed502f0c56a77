#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

namespace lanista::formats {

/// The largest allowed ratio of unpacked to packed bytes, as a protection from attacks. Up to 1 MiB is always allowed.
inline constexpr std::uint64_t kMaxCompressionRatio = 200;

/// True means that the bytes begin as a gzip file does.
bool is_gzip(std::string_view bytes);

/// The unpacked bytes of a gzip file, all members one after another. A first pass measures the size and stores nothing.
/// Errors: kDataLoss (damaged, cut off, trailing bytes, wrong checksum); kResourceExhausted (more than `max_bytes`, or
/// more than unpack_limit() of the packed bytes).
Result<std::string> gunzip(std::string_view bytes, std::uint64_t max_bytes);

}  // namespace lanista::formats
