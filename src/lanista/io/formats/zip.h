#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/formats/unpack.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxZipEntries = 1000;  ///< entries of an archive that is read

/// An entry of a zip archive, as its directory declares it.
struct ZipEntry {
  std::string name;                    ///< its key, never used as a path
  Packing packing = Packing::kStored;  ///< how it is packed
  std::uint32_t crc = 0;               ///< CRC-32 of the unpacked bytes
  std::uint64_t unpacked_bytes = 0;    ///< declared size
  std::string_view packed;             ///< points into the archive
};

/// The entries of an archive, in the order of its directory.
///
/// Only the part of zip is read that arrays need: one file, stored or deflated, below 4 GB. Names must be UTF-8, differ
/// and contain no path. Entries must not overlap or leave the file. All declared sizes together must be within
/// unpack_limit() of the archive. Errors: kDataLoss, kUnimplemented, kResourceExhausted, each with the rule and the
/// entry.
Result<std::vector<ZipEntry>> read_zip_directory(std::string_view archive);

/// The unpacked bytes of an entry: a part of the archive if it is stored, else the content of `buffer`. Errors:
/// kDataLoss if they do not fit the declaration, kResourceExhausted if they are more.
Result<std::string_view> unpack_entry(const ZipEntry& entry, std::string& buffer);

}  // namespace lanista::formats
