#pragma once

#include <cstdint>
#include <string>

#include "lanista/base/file_system.h"
#include "lanista/base/result.h"

namespace lanista::data {

/// The largest file in bytes, packed and unpacked, that is read into memory.
inline constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;
/// The largest number of features of a data set: rows times features of a row.
inline constexpr std::int64_t kMaxFeatures = std::int64_t{1} << 30;

/// The path that `path` means: an absolute path unchanged, any other path below `folder`.
std::string resolve_path(const std::string& path, const std::string& folder);
/// Returns the bytes of a whole file; a gzip file is unpacked. Errors: kNotFound, kIo, kResourceExhausted (larger than
/// `max_bytes`, packed or unpacked, or packed beyond unpack_limit()), kDataLoss (a damaged gzip file), kUnimplemented
/// (a format that is refused: formats/signature.h); `where` is the file.
Result<std::string> load_file(FileSystem& fs, const std::string& path, std::uint64_t max_bytes = kMaxFileBytes);
/// The last component of a path without its extension and without ".gz" after it: "b" for "a/b.csv.gz".
std::string stem_of(const std::string& path);
/// The extension in lower case without dot and ".gz": "csv" for "a/b.CSV.gz"; empty if there is none.
std::string extension_of(const std::string& path);
/// True means that `path` exists and is a folder.
bool is_folder(FileSystem& fs, const std::string& path);
/// Returns `error` with `path` as its `where`, if that is empty; else unchanged.
Error with_file(Error error, const std::string& path);

}  // namespace lanista::data
