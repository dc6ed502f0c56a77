#include "lanista/io/data/resize.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

using formats::Image;
using Pixels = std::vector<std::uint8_t>;

TEST(Resize, AveragesTheAreaWhereItShrinks) {
  const Image four{.channels = 1, .height = 2, .width = 4, .pixels = {0, 10, 20, 30, 40, 50, 60, 70}};

  EXPECT_EQ(resize(four, 1, 2).pixels, (Pixels{25, 45}));
  EXPECT_EQ(resize(four, 1, 1).pixels, (Pixels{35}));
  // A third of four pixels covers one and a third of the next.
  EXPECT_EQ(resize(four, 2, 3).pixels, (Pixels{3, 15, 28, 43, 55, 68}));
}

TEST(Resize, InterpolatesWhereItGrows) {
  const Image two{.channels = 1, .height = 1, .width = 2, .pixels = {0, 100}};

  EXPECT_EQ(resize(two, 1, 4).pixels, (Pixels{0, 25, 75, 100}));
  EXPECT_EQ(resize({.channels = 1, .height = 1, .width = 1, .pixels = {7}}, 2, 2).pixels, (Pixels{7, 7, 7, 7}));
}

TEST(Resize, KeepsConstantImagesConstant) {
  Rng rng(4);
  for (int round = 0; round < 200; ++round) {
    const std::int64_t h = rng.between(1, 40), w = rng.between(1, 40);
    const auto level = static_cast<std::uint8_t>(rng.below(256));
    const Image plain{
        .channels = 3, .height = h, .width = w, .pixels = Pixels(static_cast<std::size_t>(3 * h * w), level)};
    const std::int64_t to_h = rng.between(1, 40), to_w = rng.between(1, 40);

    const Image out = resize(plain, to_h, to_w);

    ASSERT_EQ(out.height, to_h);
    ASSERT_EQ(out.width, to_w);
    ASSERT_EQ(out.pixels, Pixels(static_cast<std::size_t>(3 * to_h * to_w), level)) << h << "x" << w;
  }
}

TEST(WithChannels, ConvertsColourToGreyAndBack) {
  const Image colours{
      .channels = 3, .height = 1, .width = 4, .pixels = {255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255}};

  EXPECT_EQ(with_channels(colours, 1).pixels, (Pixels{77, 149, 29, 255}));
  EXPECT_EQ(with_channels({.channels = 1, .height = 1, .width = 2, .pixels = {3, 9}}, 3).pixels,
            (Pixels{3, 9, 3, 9, 3, 9}));
}

}  // namespace
}  // namespace lanista::data
