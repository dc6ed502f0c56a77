#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "lanista/io/formats/image.h"

namespace lanista::formats {

// One reader for each format; decode_image() selects it. Both libraries report errors by longjmp. Therefore their calls
// are in functions without destructors, and the calling object frees what they allocate.

/// The largest width and height of an image in pixels, as in JPEG. It limits the memory of a row.
inline constexpr std::int64_t kMaxImageSide = 65500;

/// Checks the sides of an image in pixels. Errors: kDataLoss (a side is not positive), kResourceExhausted (above
/// kMaxImageSide, or more than kMaxImagePixels pixels).
Result<void> check_image_size(std::int64_t width, std::int64_t height);

/// The image in the bytes of a PNG file, transparent pixels over `background` (red, green, blue), as it is stored: not
/// turned upright. Errors: those of decode_image() (kDataLoss, kUnimplemented, kResourceExhausted).
Result<Image> read_png(std::string_view bytes, const std::array<std::uint8_t, 3>& background);
/// The image in the bytes of a JPEG file, as it is stored: not turned upright. Errors: those of decode_image()
/// (kDataLoss, kUnimplemented, kResourceExhausted).
Result<Image> read_jpeg(std::string_view bytes);

}  // namespace lanista::formats
