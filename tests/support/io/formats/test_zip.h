#pragma once

#include <string>
#include <string_view>
#include <vector>

// Writers for the tests of what unpacks: gzip through zlib, zip by hand so that every field can lie.
namespace lanista::formats::test {

std::string deflated(std::string_view bytes);  ///< without any wrapping
std::string gzipped(std::string_view bytes);
std::string little(std::uint64_t value, int bytes);

/// One entry; what is -1 is filled in truthfully.
struct ZipFile {
  std::string name = {}, data = {};
  bool deflate = false;
  std::int64_t method = -1, flags = 0, crc = -1, packed = -1, unpacked = -1, offset = -1;
  std::string local_name = {}, local_extra = {};  ///< empty: as in the directory, none
};

std::string zip(const std::vector<ZipFile>& files, const std::string& comment = "");

}  // namespace lanista::formats::test
