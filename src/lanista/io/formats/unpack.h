#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

struct z_stream_s;

namespace lanista::formats {

/// How bytes are packed: not at all, as a raw deflate stream, or as a gzip file.
enum class Packing { kStored, kDeflate, kGzip };

/// Reads packed bytes as a stream of unpacked ones. It needs about 40 KB of memory for any input. Not thread-safe.
class Unpacker {
 public:
  /// A reader at the beginning of `bytes`, which must outlive it. `what` begins every error message.
  Unpacker(std::string_view bytes, Packing packing, std::string what);
  ~Unpacker();

  /// Writes the next unpacked bytes to `out` and returns their number. Less than out.size() means the end of the data.
  /// Errors of packed data: kDataLoss (damaged, cut off, bytes after the end, a wrong checksum of gzip),
  /// kResourceExhausted (no memory for the 40 KB).
  Result<std::size_t> read(std::span<char> out);

 private:
  Error damaged(const std::string& how) const { return {Code::kDataLoss, what_ + ": " + how, ""}; }
  Result<void> inflate_some(std::span<char>& out);
  Result<void> end_member();

  std::string_view rest_;
  Packing packing_;
  std::string what_;
  std::unique_ptr<z_stream_s> stream_;  ///< null until the first read
  bool ended_ = false;
};

/// Size and checksum of unpacked data.
struct UnpackedSize {
  std::uint64_t bytes = 0;  ///< number of unpacked bytes
  std::uint32_t crc = 0;    ///< CRC-32 of the unpacked bytes, as in zip
};

/// The largest unpacked size in bytes that is accepted: kMaxCompressionRatio times the packed bytes, but at least 1
/// MiB. Small files of zeros or of sorted labels may pack better than the ratio.
std::uint64_t unpack_limit(std::uint64_t packed_bytes);

/// Size and checksum of the unpacked bytes, without storing them. Errors: those of Unpacker::read(); kResourceExhausted
/// (more than `max_bytes`).
Result<UnpackedSize> measure_unpacked(std::string_view bytes, Packing packing, const std::string& what,
                                      std::uint64_t max_bytes);

/// The unpacked bytes. `measured` is the result of measure_unpacked() for the same bytes. Errors: those of
/// Unpacker::read().
Result<std::string> unpack(std::string_view bytes, Packing packing, const std::string& what,
                           const UnpackedSize& measured);

}  // namespace lanista::formats
