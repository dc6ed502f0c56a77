#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// An image with more pixels is refused before it is decoded.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 24;

/// An 8-bit image in planes.
struct Image {
  std::int64_t channels = 1;         ///< 1 (grey) or 3 (red, green, blue)
  std::int64_t height = 0;           ///< in pixels
  std::int64_t width = 0;            ///< in pixels
  std::vector<std::uint8_t> pixels;  ///< [channels, height, width]
};

/// Reads a PNG or JPEG; the signature decides. Palettes become colours, 16 bits become 8, and grey stays grey.
/// Transparent pixels are composed over black. Errors: kDataLoss (damaged; the message of the library), kUnimplemented
/// (neither PNG nor JPEG; CMYK), kResourceExhausted (too many pixels, or more memory than 4 x input + 64 MB).
Result<Image> decode_image(std::string_view bytes);

/// Writes a PNG. Errors: kInvalidArgument (channels, sizes, a wrong number of pixels).
Result<std::string> encode_png(const Image& image);

}  // namespace lanista::formats
