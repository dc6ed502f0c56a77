#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lanista/base/result.h"

struct z_stream_s;

namespace lanista::formats {

enum class Packing { kStored, kDeflate, kGzip };

/// Pulls the unpacked bytes out of packed ones, piece by piece; holds some 40 KB, whatever the bytes claim.
class Unpacker {
 public:
  /// `bytes` must outlive it; `what` begins every message.
  Unpacker(std::string_view bytes, Packing packing, std::string what);
  ~Unpacker();

  /// Fills `out` and gives its size; less, if the data end before. Errors: kDataLoss (damaged, cut off, a wrong
  /// checksum, bytes behind the end), kResourceExhausted (no memory for the 40 KB).
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

/// What an unpacked stream would be.
struct UnpackedSize {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  ///< CRC-32 as in zip
};

/// How many bytes may come out of so many: kMaxCompressionRatio times as many, and always 1 MiB, because small files of
/// zeros or of sorted labels honestly pack better than that.
std::uint64_t unpack_limit(std::uint64_t packed_bytes);

/// Unpacks all and keeps nothing. Errors: those of Unpacker; kResourceExhausted beyond `max_bytes`.
Result<UnpackedSize> measure_unpacked(std::string_view bytes, Packing packing, const std::string& what, std::uint64_t max_bytes);

/// Unpacks what has been measured.
Result<std::string> unpack(std::string_view bytes, Packing packing, const std::string& what, const UnpackedSize& measured);

}  // namespace lanista::formats
