#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lanista {

inline constexpr std::size_t kFrameHeader = 8;  ///< bytes before a payload

/// One frame: a typed, checked record of bytes. Its bytes, little-endian, are: u32 length of the payload, u16 type, u16
/// zero, payload, u32 CRC-32C of all bytes before it.
struct Frame {
  std::uint16_t type = 0;    ///< kind of the payload, as the caller numbers kinds
  std::string_view payload;  ///< view of the bytes that were decoded
  bool operator==(const Frame&) const = default;
};

/// Appends the bytes of a frame to `out`. A payload above 64 MiB is a bug of the caller.
void encode_frame(std::uint16_t type, std::string_view payload, std::string& out);

/// The result of decode_frames().
struct DecodedFrames {
  std::vector<Frame> frames;          ///< the valid frames from the start, in order
  std::uint64_t num_valid_bytes = 0;  ///< total size of `frames` in the input, headers included
  bool torn = false;                  ///< True: an unfinished or damaged frame follows `frames`.
  /// True: a whole, valid frame follows the damage, so that it is corruption and not a torn tail. Also true if so many
  /// headers of long frames follow that a check of all of them would be too slow.
  bool has_data_after_damage = false;
};

/// Reads frames from the start of `bytes` up to the end or the first damage. A length above 64 MiB counts as damage.
/// The result has the frames, their size, and whether damage follows them and valid data after it.
DecodedFrames decode_frames(std::string_view bytes);

/// Reads the frame that begins at byte `at`. No value if it is damaged or unfinished, or if the payload has more than
/// `max_payload_bytes`.
std::optional<Frame> frame_at(std::string_view bytes, std::uint64_t at, std::size_t max_payload_bytes);

}  // namespace lanista
