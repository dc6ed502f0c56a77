#include "lanista/io/formats/gzip.h"

#include <algorithm>

#include "lanista/io/formats/unpack.h"

namespace lanista::formats {

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

Result<std::string> gunzip(std::string_view bytes, std::uint64_t max_bytes) {
  LANISTA_ASSIGN(const UnpackedSize measured,
                 measure_unpacked(bytes, Packing::kGzip, "gzip", std::min(max_bytes, unpack_limit(bytes.size()))));
  return unpack(bytes, Packing::kGzip, "gzip", measured);
}

}  // namespace lanista::formats
