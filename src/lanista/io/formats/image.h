#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanista/base/result.h"

namespace lanista::formats {

/// The largest number of pixels of an image; more are refused before decoding.
inline constexpr std::int64_t kMaxImagePixels = std::int64_t{1} << 24;

/// An image with 8 bits for each value, one plane for each channel.
struct Image {
  std::int64_t channels = 1;         ///< 1 (grey) or 3 (red, green, blue)
  std::int64_t height = 0;           ///< in pixels
  std::int64_t width = 0;            ///< in pixels
  std::vector<std::uint8_t> pixels;  ///< [channels, height, width], row-major, 0 black
};

/// How decode_image() reads an image.
struct ImageDecoding {
  bool applies_orientation = false;             ///< True: the orientation in EXIF data is applied (exif.h).
  std::array<std::uint8_t, 3> background = {};  ///< Red, green and blue under transparent pixels; default black.
};

/// The image in the bytes of a PNG or JPEG file; the first bytes decide which. Palettes become colours, 16 bits become
/// 8, and grey stays grey unless it is transparent over a coloured background.
///
/// Transparent pixels are composed over the background, rounded to the nearest. CMYK and YCCK with 8-bit values C, M,
/// Y, K become red = (255 - C) (255 - K) / 255 and so on, without a colour profile. Their values count as inverted, as
/// Adobe's programs write them and Pillow reads them. Errors: kDataLoss (damaged; the message of the library),
/// kUnimplemented (neither PNG nor JPEG; arithmetic coding; two or more than four channels), kResourceExhausted (too
/// many pixels; JPEG with more than 100 scans; more memory than 4 x input + 64 MB).
Result<Image> decode_image(std::string_view bytes, const ImageDecoding& decoding = {});

/// The bytes of a PNG file with the image. Errors: kInvalidArgument (channels other than 1 and 3, sides out of range, a
/// wrong number of pixel values).
Result<std::string> encode_png(const Image& image);

}  // namespace lanista::formats
