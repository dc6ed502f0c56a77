#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanista {

inline constexpr std::size_t kFrameHeader = 8;  ///< bytes before a payload

/// One frame. Its bytes, little-endian: u32 length of the payload, u16 type, u16 zero, payload, u32 CRC-32C of all
/// bytes before it.
struct Frame {
  std::uint16_t type = 0;    ///< what the payload is, by the caller's numbering
  std::string_view payload;  ///< points into the bytes that were decoded
  bool operator==(const Frame&) const = default;
};

/// Appends the bytes of a frame to `out`.
void encode_frame(std::uint16_t type, std::string_view payload, std::string& out);

/// What decode_frames() found.
struct DecodedFrames {
  std::vector<Frame> frames;          ///< the whole frames, in order
  std::uint64_t num_valid_bytes = 0;  ///< bytes of those frames
  bool torn = false;                  ///< An unfinished or damaged frame follows them.
  /// A whole, valid frame follows the damage, so that it is corruption and not a torn tail. It is also set if so many
  /// headers of long frames follow that a check of all of them would be too slow.
  bool has_data_after_damage = false;
};

/// Reads frames up to the end or the first damage. A length above 64 MiB counts as damage.
DecodedFrames decode_frames(std::string_view bytes);

/// The whole frame that begins at byte `at`. None if the frame is damaged or its payload exceeds `max_payload_bytes`.
std::optional<Frame> frame_at(std::string_view bytes, std::uint64_t at, std::size_t max_payload_bytes);

}  // namespace lanista
