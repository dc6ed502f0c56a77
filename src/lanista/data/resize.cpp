#include "lanista/data/resize.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lanista/base/check.h"

namespace lanista::data {
namespace {

/// An output pixel along one axis: weights of consecutive input pixels, which add up to one.
struct Tap {
  std::size_t first = 0;
  std::vector<double> weights;
};

std::vector<Tap> taps_of(std::size_t in, std::size_t out) {
  std::vector<Tap> taps(out);
  const double step = static_cast<double>(in) / static_cast<double>(out);
  for (std::size_t o = 0; o < out; ++o) {
    Tap& tap = taps[o];
    if (in >= out) {
      const double begin = static_cast<double>(o) * step, end = begin + step;
      tap.first = static_cast<std::size_t>(begin);
      for (std::size_t i = tap.first; i < in && static_cast<double>(i) < end; ++i) {
        const double covered = std::min(end, static_cast<double>(i + 1)) - std::max(begin, static_cast<double>(i));
        tap.weights.push_back(std::max(covered, 0.0) / step);
      }
    } else {
      const double centre = std::clamp((static_cast<double>(o) + 0.5) * step - 0.5, 0.0, static_cast<double>(in - 1));
      tap.first = std::min(static_cast<std::size_t>(centre), in >= 2 ? in - 2 : 0);
      const double right = centre - static_cast<double>(tap.first);
      tap.weights = {1 - right};
      if (in >= 2) tap.weights.push_back(right);
    }
  }
  return taps;
}

std::uint8_t rounded(double value) { return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

}  // namespace

formats::Image resize(const formats::Image& image, std::int64_t height, std::int64_t width) {
  if (image.height == height && image.width == width) return image;
  LANISTA_CHECK(image.height > 0 && image.width > 0 && height > 0 && width > 0, "an image without pixels");
  const auto in_h = static_cast<std::size_t>(image.height), in_w = static_cast<std::size_t>(image.width);
  const auto rows = taps_of(in_h, static_cast<std::size_t>(height));
  const auto columns = taps_of(in_w, static_cast<std::size_t>(width));
  formats::Image out{.channels = image.channels, .height = height, .width = width, .pixels = {}};
  out.pixels.reserve(static_cast<std::size_t>(image.channels) * rows.size() * columns.size());
  std::vector<double> line(in_w);
  for (std::size_t c = 0; c < static_cast<std::size_t>(image.channels); ++c) {
    for (const Tap& row : rows) {
      std::fill(line.begin(), line.end(), 0.0);
      for (std::size_t k = 0; k < row.weights.size(); ++k) {
        const std::uint8_t* from = image.pixels.data() + (c * in_h + row.first + k) * in_w;
        for (std::size_t x = 0; x < in_w; ++x) line[x] += row.weights[k] * static_cast<double>(from[x]);
      }
      for (const Tap& column : columns) {
        double sum = 0;
        for (std::size_t k = 0; k < column.weights.size(); ++k) sum += column.weights[k] * line[column.first + k];
        out.pixels.push_back(rounded(sum));
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
