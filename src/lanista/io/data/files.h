#pragma once

#include <cstdint>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::data {

/// More bytes than this, packed or not, are not read into memory, and no data set has more numbers.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;
inline constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 30;

/// `path` as it is if absolute, else inside `folder`.
std::string resolve_path(const std::string& path, const std::string& folder);
/// The whole file, unpacked if it is a gzip file. Errors: kNotFound, kIo, kResourceExhausted (larger than `max_bytes`),
/// kDataLoss (a damaged gzip file), kUnimplemented (a format that is refused: formats/signature.h); `where` is the
/// file.
Result<std::string> load_file(FileSystem& fs, const std::string& path, std::uint64_t max_bytes = kMaxFileBytes);
/// The last part of a path without its ending (and without ".gz" behind it).
std::string stem_of(const std::string& path);
/// The ending in lower case without dot, of what is inside for a ".gz": "csv" for "a/b.CSV.gz".
std::string extension_of(const std::string& path);
bool is_folder(FileSystem& fs, const std::string& path);
/// The same error, placed in a file.
Error with_file(Error error, const std::string& path);

}  // namespace lanista::data
