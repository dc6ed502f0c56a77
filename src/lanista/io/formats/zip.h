#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/io/formats/unpack.h"

namespace lanista::formats {

inline constexpr std::size_t kMaxZipEntries = 1000;

/// An entry of a zip archive, as its directory declares it.
struct ZipEntry {
  std::string name;
  Packing packing = Packing::kStored;
  std::uint32_t crc = 0;
  std::uint64_t unpacked_bytes = 0;
  std::string_view packed;  ///< into the archive
};

/// The entries of an archive, in the order of its directory. Of zip only what arrays need: one file, stored or
/// deflated, below 4 GB. Names are UTF-8, differ, and lead nowhere. Entries neither overlap nor leave the file, and all
/// that they declare is no more than unpack_limit of the archive. Errors: kDataLoss, kUnimplemented,
/// kResourceExhausted, each naming the rule and the entry.
Result<std::vector<ZipEntry>> read_zip_directory(std::string_view archive);

/// The unpacked bytes: the archive's own if they are stored, else those of `buffer`. Errors: kDataLoss if they do not
/// fit the declaration, kResourceExhausted if they are more.
Result<std::string_view> unpack_entry(const ZipEntry& entry, std::string& buffer);

}  // namespace lanista::formats
