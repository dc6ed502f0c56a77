#include "lanista/base/frame.h"

#include <optional>
#include <span>

#include "lanista/base/check.h"
#include "lanista/base/crc32c.h"

namespace lanista {
namespace {

constexpr std::size_t kHeader = 8;
constexpr std::size_t kTrailer = 4;
constexpr std::size_t kMaxPayload = std::size_t{64} << 20;

void put(std::uint32_t value, std::size_t bytes, std::string& out) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 255));
}

std::uint32_t get(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::uint32_t checksum(std::string_view bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

// The payload's length, if a whole and valid frame begins at `at`.
std::optional<std::size_t> valid_frame(std::string_view bytes, std::size_t at) {
  if (bytes.size() - at < kHeader + kTrailer) return std::nullopt;
  const std::size_t length = get(bytes, at, 4);
  if (length > kMaxPayload || length > bytes.size() - at - kHeader - kTrailer) return std::nullopt;
  if (get(bytes, at + 6, 2) != 0) return std::nullopt;
  const std::uint32_t want = get(bytes, at + kHeader + length, 4);
  if (checksum(bytes.substr(at, kHeader + length)) != want) return std::nullopt;
  return length;
}

}  // namespace

void encode_frame(std::uint16_t type, std::string_view payload, std::string& out) {
  LANISTA_CHECK(payload.size() <= kMaxPayload, "frame payload above 64 MiB");
  const std::size_t start = out.size();
  put(static_cast<std::uint32_t>(payload.size()), 4, out);
  put(type, 2, out);
  put(0, 2, out);
  out += payload;
  put(checksum(std::string_view(out).substr(start)), 4, out);
}

FrameScan decode_frames(std::string_view bytes) {
  FrameScan scan;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto length = valid_frame(bytes, at);
    if (!length) break;
    scan.frames.push_back(
        {static_cast<std::uint16_t>(get(bytes, at + 4, 2)), std::string(bytes.substr(at + kHeader, *length))});
    at += kHeader + *length + kTrailer;
  }
  scan.good_bytes = at;
  scan.torn = at < bytes.size();
  // The damage may lie in a length, so that the next frame may begin anywhere.
  for (std::size_t next = at + 1; scan.torn && !scan.damaged_middle && next < bytes.size(); ++next) {
    scan.damaged_middle = valid_frame(bytes, next).has_value();
  }
  return scan;
}

}  // namespace lanista
