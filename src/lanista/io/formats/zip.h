#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/formats/unpack.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxZipEntries = 1000;  ///< largest number of entries of an archive

/// One file in a zip archive, as the directory of the archive declares it.
struct ZipEntry {
  std::string name;                    ///< name of the entry, never used as a path
  Packing packing = Packing::kStored;  ///< how it is packed
  std::uint32_t crc = 0;               ///< CRC-32 of the unpacked bytes
  std::uint64_t unpacked_bytes = 0;    ///< declared unpacked size
  std::string_view packed;             ///< packed bytes; points into the archive
};

/// The entries of a zip archive, in the order of its directory. They point into `archive`, which must outlive them.
///
/// Only a part of the zip format is read: one file, entries stored or deflated, below 4 GB. Names must be UTF-8, differ
/// and must not lead out of a folder; they may contain "/". Entries must not overlap or leave the file. There are at
/// most kMaxZipEntries, and all declared sizes together are within unpack_limit() of the archive. Errors: kDataLoss,
/// kUnimplemented, kResourceExhausted, each with the rule and the entry.
Result<std::vector<ZipEntry>> read_zip_directory(std::string_view archive);

/// The unpacked bytes of an entry. They point into the archive if the entry is stored, else into `buffer`, which is
/// overwritten. Errors: kDataLoss (damaged, or other size or checksum than declared), kResourceExhausted (more bytes
/// than declared).
Result<std::string_view> unpack_entry(const ZipEntry& entry, std::string& buffer);

}  // namespace lanista::formats
