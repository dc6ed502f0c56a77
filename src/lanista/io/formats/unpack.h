#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

struct z_stream_s;

namespace lanista::formats {

/// How bytes are packed.
enum class Packing { kStored, kDeflate, kGzip };

/// A stream of unpacked bytes from packed ones. It needs about 40 KB of memory for any input.
class Unpacker {
 public:
  /// `bytes` must outlive this object; `what` begins every message.
  Unpacker(std::string_view bytes, Packing packing, std::string what);
  ~Unpacker();

  /// Fills `out` and returns the number of bytes, which is smaller at the end of the data. Errors: kDataLoss (damaged,
  /// cut off, a wrong checksum, bytes after the end), kResourceExhausted (no memory for the 40 KB).
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
  std::uint64_t bytes = 0;  ///< unpacked bytes
  std::uint32_t crc = 0;    ///< CRC-32 as in zip
};

/// The largest unpacked size that is accepted: kMaxCompressionRatio times the packed bytes, and always at least 1 MiB,
/// since small files of zeros or of sorted labels may pack better than that.
std::uint64_t unpack_limit(std::uint64_t packed_bytes);

/// Unpacks all bytes and stores none. Errors: those of Unpacker; kResourceExhausted beyond `max_bytes`.
Result<UnpackedSize> measure_unpacked(std::string_view bytes, Packing packing, const std::string& what,
                                      std::uint64_t max_bytes);

/// Unpacks bytes that measure_unpacked() has measured.
Result<std::string> unpack(std::string_view bytes, Packing packing, const std::string& what,
                           const UnpackedSize& measured);

}  // namespace lanista::formats
