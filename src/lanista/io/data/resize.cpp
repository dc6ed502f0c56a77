#include "lanista/io/data/resize.h"

#include <algorithm>
#include <vector>

#include "lanista/base/check.h"

namespace lanista::data {
namespace {

/// An output pixel along one axis: whole weights of consecutive input pixels, which sum to the total of the axis.
struct Tap {
  std::int64_t first = 0;
  std::vector<std::int64_t> weights;
};
struct Axis {
  std::vector<Tap> taps;
  std::int64_t total = 1;
};

Axis axis_of(std::int64_t in, std::int64_t out) {
  Axis axis{.taps = std::vector<Tap>(static_cast<std::size_t>(out)), .total = in >= out ? in : 2 * out};
  for (std::int64_t o = 0; o < out; ++o) {
    Tap& tap = axis.taps[static_cast<std::size_t>(o)];
    if (in >= out) {  // lengths in units of 1/out of an input pixel
      const std::int64_t begin = o * in, end = begin + in;
      tap.first = begin / out;
      for (std::int64_t i = tap.first; i * out < end; ++i) {
        tap.weights.push_back(std::min(end, (i + 1) * out) - std::max(begin, i * out));
      }
    } else {  // lengths in units of 1/(2 out)
      const std::int64_t centre = std::clamp((2 * o + 1) * in - out, std::int64_t{0}, (in - 1) * axis.total);
      tap.first = centre / axis.total;
      tap.weights = {axis.total - centre % axis.total};
      if (centre % axis.total > 0) tap.weights.push_back(centre % axis.total);
    }
  }
  return axis;
}

}  // namespace

formats::Image resize(const formats::Image& image, std::int64_t height, std::int64_t width) {
  if (image.height == height && image.width == width) return image;
  LANISTA_CHECK(image.height > 0 && image.width > 0 && height > 0 && width > 0, "an image without pixels");
  const Axis rows = axis_of(image.height, height), columns = axis_of(image.width, width);
  const std::int64_t total = rows.total * columns.total;  // both are below 2^25: times 255 still far from 2^63
  formats::Image out{.channels = image.channels, .height = height, .width = width, .pixels = {}};
  out.pixels.reserve(static_cast<std::size_t>(image.channels * height * width));
  std::vector<std::int64_t> line(static_cast<std::size_t>(image.width));
  for (std::int64_t c = 0; c < image.channels; ++c) {
    for (const Tap& row : rows.taps) {
      std::fill(line.begin(), line.end(), 0);
      const std::uint8_t* from = image.pixels.data() + (c * image.height + row.first) * image.width;
      for (const std::int64_t weight : row.weights) {
        for (std::int64_t& sum : line) sum += weight * *from++;
      }
      for (const Tap& column : columns.taps) {
        const std::int64_t* at = line.data() + column.first;
        std::int64_t sum = 0;
        for (const std::int64_t weight : column.weights) sum += weight * *at++;
        out.pixels.push_back(static_cast<std::uint8_t>((sum + total / 2) / total));
      }
    }
  }
  return out;
}

formats::Image with_channels(const formats::Image& image, std::int64_t channels) {
  if (image.channels == channels) return image;
  LANISTA_CHECK(image.channels + channels == 4, "an image has one channel or three");
  formats::Image out{.channels = channels, .height = image.height, .width = image.width, .pixels = {}};
  if (channels == 3) {
    for (int c = 0; c < 3; ++c) out.pixels.insert(out.pixels.end(), image.pixels.begin(), image.pixels.end());
    return out;
  }
  const std::size_t plane = image.pixels.size() / 3;
  for (std::size_t i = 0; i < plane; ++i) {
    const unsigned red = image.pixels[i], green = image.pixels[plane + i], blue = image.pixels[2 * plane + i];
    out.pixels.push_back(static_cast<std::uint8_t>((77 * red + 150 * green + 29 * blue + 128) / 256));
  }
  return out;
}

}  // namespace lanista::data
