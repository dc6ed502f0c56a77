#pragma once

#include <string_view>

#include "lanista/io/formats/image.h"

namespace lanista::formats {

// One reader a format; decode_image chooses. Both libraries leave by longjmp, so their calls stand in functions that
// hold nothing with a destructor, and what they allocate is freed by the object that calls them.

/// A picture's sides; JPEG cannot have longer ones, and they bound the memory for a row.
inline constexpr std::int64_t kMaxImageSide = 65500;

/// Errors: kDataLoss (no sides), kResourceExhausted (too long, too many pixels).
Result<void> check_image_size(std::int64_t width, std::int64_t height);

Result<Image> read_png(std::string_view bytes);
Result<Image> read_jpeg(std::string_view bytes);

}  // namespace lanista::formats
