#pragma once

#include <cstdint>

#include "lanista/io/formats/image.h"

namespace lanista::data {

/// The image scaled to `height` x `width` pixels, along each axis separately. Where it shrinks, a pixel is the mean of
/// the area that it covers. Where it grows, a pixel is interpolated between two neighbours (bilinear, by pixel
/// centres). The arithmetic is double, rounded to the nearest, with the same bits everywhere.
formats::Image resize(const formats::Image& image, std::int64_t height, std::int64_t width);

/// The image with 1 or 3 `channels`. Three become one by 0.299 R + 0.587 G + 0.114 B in 8-bit fixed point; one becomes
/// three equal ones. Other numbers of channels throw InternalError.
formats::Image with_channels(const formats::Image& image, std::int64_t channels);

}  // namespace lanista::data
