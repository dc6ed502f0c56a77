#include "lanista/base/frame.h"

#include <optional>
#include <span>

#include "lanista/base/check.h"
#include "lanista/base/crc32c.h"
#include "lanista/base/little_endian.h"

namespace lanista {
namespace {

constexpr std::size_t kTrailer = 4;
constexpr std::size_t kMaxPayload = std::size_t{64} << 20;

std::uint32_t checksum(std::string_view bytes) { return crc32c(std::as_bytes(std::span(bytes))); }

// The payload's length, if the bytes at `at` may be the header of a whole frame.
std::optional<std::size_t> claimed_length(std::string_view bytes, std::size_t at) {
  if (bytes.size() - at < kFrameHeader + kTrailer) return std::nullopt;
  const std::size_t length = get_little_endian(bytes, at, 4);
  if (length > kMaxPayload || length > bytes.size() - at - kFrameHeader - kTrailer) return std::nullopt;
  if (get_little_endian(bytes, at + 6, 2) != 0) return std::nullopt;
  return length;
}

// An upper bound for the number of frames. Growing the list would hold it twice.
std::size_t count_frames(std::string_view bytes) {
  std::size_t count = 0, at = 0;
  while (const auto length = claimed_length(bytes, at)) {
    ++count;
    at += kFrameHeader + *length + kTrailer;
  }
  return count;
}

Frame frame_of(std::string_view bytes, std::size_t at, std::size_t length) {
  return {static_cast<std::uint16_t>(get_little_endian(bytes, at + 4, 2)), bytes.substr(at + kFrameHeader, length)};
}

bool has_right_checksum(std::string_view bytes, std::size_t at, std::size_t length) {
  return checksum(bytes.substr(at, kFrameHeader + length)) == get_little_endian(bytes, at + kFrameHeader + length, 4);
}

// Whether a whole frame begins after `at`. The damage may be in a length, so a frame may begin anywhere. Torn text does
// not look like a header. If many bytes look like headers of long frames, a check of all of them would be quadratic.
// Then the file was made so on purpose, and the result is true: it must not be cut.
bool frame_follows(std::string_view bytes, std::size_t at) {
  std::size_t left = kMaxPayload + 8 * bytes.size();
  for (++at; at < bytes.size(); ++at) {
    const auto length = claimed_length(bytes, at);
    if (!length) continue;
    if (*length > left || has_right_checksum(bytes, at, *length)) return true;
    left -= *length;
  }
  return false;
}

}  // namespace

void encode_frame(std::uint16_t type, std::string_view payload, std::string& out) {
  LANISTA_CHECK(payload.size() <= kMaxPayload, "frame payload above 64 MiB");
  const std::size_t start = out.size();
  put_little_endian(static_cast<std::uint32_t>(payload.size()), 4, out);
  put_little_endian(type, 2, out);
  put_little_endian(0, 2, out);
  out += payload;
  put_little_endian(checksum(std::string_view(out).substr(start)), 4, out);
}

DecodedFrames decode_frames(std::string_view bytes) {
  DecodedFrames scan;
  scan.frames.reserve(count_frames(bytes));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto length = claimed_length(bytes, at);
    if (!length || !has_right_checksum(bytes, at, *length)) break;
    scan.frames.push_back(frame_of(bytes, at, *length));
    at += kFrameHeader + *length + kTrailer;
  }
  scan.num_valid_bytes = at;
  scan.torn = at < bytes.size();
  scan.has_data_after_damage = scan.torn && frame_follows(bytes, at);
  return scan;
}

std::optional<Frame> frame_at(std::string_view bytes, std::uint64_t at, std::size_t max_payload_bytes) {
  if (at >= bytes.size()) return std::nullopt;
  const auto length = claimed_length(bytes, at);
  if (!length || *length > max_payload_bytes || !has_right_checksum(bytes, at, *length)) return std::nullopt;
  return frame_of(bytes, at, *length);
}

}  // namespace lanista
