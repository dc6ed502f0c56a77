#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanista {

inline constexpr std::size_t kFrameHeader = 8;  ///< bytes before a payload

/// One framed record: u32 length of payload, u16 type, u16 zero, payload, u32 CRC-32C of all before; little-endian.
struct Frame {
  std::uint16_t type = 0;
  std::string_view payload;  ///< points into the bytes that were decoded
  bool operator==(const Frame&) const = default;
};

/// Appends the bytes of a frame to `out`.
void encode_frame(std::uint16_t type, std::string_view payload, std::string& out);

/// What `decode_frames` found: whole frames, how many bytes they took, and whether anything follows them.
struct DecodedFrames {
  std::vector<Frame> frames;
  std::uint64_t num_valid_bytes = 0;
  bool torn = false;  ///< bytes after num_valid_bytes are an unfinished or damaged frame
  /// A whole, valid frame follows the damage, or so many headers of long ones that looking at all of them would take
  /// too long: not a torn tail, but corruption.
  bool has_data_after_damage = false;
};

/// Reads frames until the end or the first damage. A length above 64 MiB counts as damage.
DecodedFrames decode_frames(std::string_view bytes);

/// The whole frame that begins at byte `at`, if there is one and its payload is not longer than `max_payload_bytes`.
std::optional<Frame> frame_at(std::string_view bytes, std::uint64_t at, std::size_t max_payload_bytes);

}  // namespace lanista
