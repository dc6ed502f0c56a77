#pragma once

#include <cstdint>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::data {

/// The largest file, packed or not, that is read into memory.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;
inline constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 30;  ///< numbers of a data set

/// An absolute path unchanged, any other path inside `folder`.
std::string resolve_path(const std::string& path, const std::string& folder);
/// Reads a whole file and unpacks a gzip file. Errors: kNotFound, kIo, kResourceExhausted (larger than `max_bytes`),
/// kDataLoss (a damaged gzip file), kUnimplemented (a format that is refused: formats/signature.h); `where` is the
/// file.
Result<std::string> load_file(FileSystem& fs, const std::string& path, std::uint64_t max_bytes = kMaxFileBytes);
/// The last component of a path without its extension (and without ".gz" after it).
std::string stem_of(const std::string& path);
/// The extension in lower case without the dot; without ".gz": "csv" for "a/b.CSV.gz".
std::string extension_of(const std::string& path);
/// Whether a path is a folder.
bool is_folder(FileSystem& fs, const std::string& path);
/// The error with the file in `where`.
Error with_file(Error error, const std::string& path);

}  // namespace lanista::data
