#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// More pixels than this are refused before they are decoded.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 24;

struct Image {
  std::int64_t channels = 1;  ///< 1 (grey) or 3 (red, green, blue)
  std::int64_t height = 0, width = 0;
  std::vector<std::uint8_t> pixels;  ///< [channels, height, width]
};

/// Reads a PNG or JPEG by its signature. Palettes become colours, 16 bit become 8, an alpha channel is laid over black;
/// grey stays grey. Errors: kDataLoss (damaged; the library's own words), kUnimplemented (neither PNG nor JPEG; CMYK),
/// kResourceExhausted (too many pixels, or more memory than 4 x input + 64 MB).
Result<Image> decode_image(std::string_view bytes);

/// Errors: kInvalidArgument (channels, sizes, a wrong number of pixels).
Result<std::string> encode_png(const Image& image);

}  // namespace lanista::formats
