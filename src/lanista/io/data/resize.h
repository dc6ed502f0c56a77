#pragma once

#include <cstdint>

#include "lanista/io/formats/image.h"

namespace lanista::data {

/// The image in another size, along each axis on its own: where it shrinks, a pixel is the mean of the area it covers;
/// where it grows, it lies between its two neighbours (bilinear, by pixel centres). In double arithmetic, rounded to
/// the nearest; the same bits everywhere.
formats::Image resize(const formats::Image& image, std::int64_t height, std::int64_t width);

/// One channel from three (0.299 R + 0.587 G + 0.114 B in 8-bit fixed point), or three equal ones from one.
formats::Image with_channels(const formats::Image& image, std::int64_t channels);

}  // namespace lanista::data
