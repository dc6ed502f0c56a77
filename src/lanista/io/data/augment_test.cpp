#include "lanista/io/data/augment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <thread>

namespace lanista::data {
namespace {

using study::PluginConfig;

DataSpec images(std::int64_t channels, std::int64_t height, std::int64_t width) {
  DataSpec spec;
  spec.features = graph::Shape{{channels, height, width}};
  return spec;
}

Augmenter augmenter(const std::vector<PluginConfig>& augment, const DataSpec& spec) {
  auto made = Augmenter::make(augment, spec);
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
  return made.ok() ? *made : Augmenter();
}

/// 1, 2, 3, ...: every pixel shows its origin.
std::vector<float> counted(const DataSpec& spec) {
  std::vector<float> out(static_cast<std::size_t>(spec.features.elements_per_sample()));
  std::iota(out.begin(), out.end(), 1.0F);
  return out;
}

std::vector<float> applied(const Augmenter& augment, const DataSpec& spec, std::int64_t sample, std::int64_t epoch = 0,
                           std::uint64_t seed = 7) {
  std::vector<float> out = counted(spec);
  augment.apply(seed, epoch, sample, out);
  return out;
}

/// All results for many samples, with their counts.
std::map<std::vector<float>, int> results(const std::vector<PluginConfig>& augment, const DataSpec& spec, int samples) {
  const Augmenter all = augmenter(augment, spec);
  std::map<std::vector<float>, int> seen;
  for (int i = 0; i < samples; ++i) ++seen[applied(all, spec, i)];
  return seen;
}

/// The image moved by (dy, dx); `outside` returns the value for a channel and a position outside.
template <class Outside>
std::vector<float> moved(const DataSpec& spec, std::int64_t dy, std::int64_t dx, Outside outside) {
  const auto& d = spec.features.dims;
  const std::vector<float> in = counted(spec);
  std::vector<float> out;
  for (std::int64_t c = 0; c < d[0]; ++c) {
    for (std::int64_t y = -dy; y < d[1] - dy; ++y) {
      for (std::int64_t x = -dx; x < d[2] - dx; ++x) {
        const bool inside = y >= 0 && y < d[1] && x >= 0 && x < d[2];
        out.push_back(inside ? in[static_cast<std::size_t>((c * d[1] + y) * d[2] + x)] : outside(c, y, x));
      }
    }
  }
  return out;
}

TEST(Augment, CropShiftsUniformlyOverBlack) {
  const DataSpec spec = images(2, 4, 5);

  const auto seen = results({{"crop", {{"pad", 1}}}}, spec, 1800);

  EXPECT_EQ(seen.size(), 9U);
  for (std::int64_t dy = -1; dy <= 1; ++dy) {
    for (std::int64_t dx = -1; dx <= 1; ++dx) {
      const auto it = seen.find(moved(spec, dy, dx, [](auto, auto, auto) { return 0.0F; }));
      ASSERT_NE(it, seen.end()) << dy << ' ' << dx;
      EXPECT_GT(it->second, 140);
      EXPECT_LT(it->second, 260);
    }
  }
}

TEST(Augment, ShiftRepeatsThePixelsAtTheEdges) {
  const DataSpec spec = images(2, 5, 4);
  const std::vector<float> in = counted(spec);

  const auto seen = results({{"shift", {{"max", 3}}}}, spec, 2000);

  EXPECT_EQ(seen.size(), 49U);
  for (std::int64_t dy = -3; dy <= 3; ++dy) {
    for (std::int64_t dx = -3; dx <= 3; ++dx) {
      const auto edge = [&](std::int64_t c, std::int64_t y, std::int64_t x) {
        return in[static_cast<std::size_t>((c * 5 + std::clamp<std::int64_t>(y, 0, 4)) * 4 +
                                           std::clamp<std::int64_t>(x, 0, 3))];
      };
      EXPECT_TRUE(seen.contains(moved(spec, dy, dx, edge))) << dy << ' ' << dx;
    }
  }
}

TEST(Augment, FlipMirrorsHalfOfTheImages) {
  const DataSpec spec = images(2, 3, 2);
  const std::vector<float> same = counted(spec), left_right{2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11},
                           up_down{5, 6, 3, 4, 1, 2, 11, 12, 9, 10, 7, 8};

  for (const auto& [options, mirrored] : {std::pair{Options::object(), left_right},
                                          {Options{{"axis", "horizontal"}}, left_right},
                                          {Options{{"axis", "vertical"}}, up_down}}) {
    const auto seen = results({{"flip", options}}, spec, 1000);
    EXPECT_EQ(seen.size(), 2U);
    EXPECT_NEAR(seen.at(same), 500, 80);
    EXPECT_NEAR(seen.at(mirrored), 500, 80);
  }
}

TEST(Augment, EraseBlackensSquareAcrossEdges) {
  const DataSpec spec = images(2, 4, 4);
  std::set<std::size_t> counts;
  for (const auto& [image, times] : results({{"erase", {{"size", 2}}}}, spec, 500)) {
    std::vector<std::size_t> black;
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(image[i] == 0.0F, image[16 + i] == 0.0F);  // the same in every channel
      if (image[i] == 0.0F) black.push_back(i);
    }
    counts.insert(black.size());
    EXPECT_LE(black.back() / 4 - black.front() / 4, 1U);
    EXPECT_GT(times, 0);
  }
  EXPECT_EQ(counts, (std::set<std::size_t>{1, 2, 4}));
}

TEST(Augment, NoiseIsGaussianForAnyShape) {
  DataSpec spec;
  spec.features = graph::Shape{{20'000}};
  const auto noisy = applied(augmenter({{"noise", {{"std", 0.5}}}}, spec), spec, 3);
  const auto plain = counted(spec);
  double sum = 0, squares = 0;
  int within = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    const double noise = noisy[i] - plain[i];
    sum += noise;
    squares += noise * noise;
    within += std::abs(noise) < 0.5 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 20'000, 0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 20'000), 0.5, 0.02);
  EXPECT_NEAR(within / 20'000.0, 0.6827, 0.02);
}

TEST(Augment, FillsOutsideWithRawBlack) {
  DataSpec spec = images(2, 3, 3);
  spec.normalization = {.mean = {4, 5}, .scale = {2, 5}};
  const auto black = [](std::int64_t c, auto, auto) { return c == 0 ? -2.0F : -1.0F; };

  EXPECT_TRUE(results({{"crop", {{"pad", 1}}}}, spec, 200).contains(moved(spec, -1, 1, black)));
  EXPECT_EQ(results({{"erase", {{"size", 2}}}}, spec, 200).begin()->first[0], -2.0F);
}

TEST(Augment, DependsOnSeedEpochAndSampleAlone) {
  const DataSpec spec = images(1, 8, 8);
  const Augmenter all = augmenter({{"crop", {{"pad", 2}}}, {"flip"}, {"noise", {{"std", 0.1}}}}, spec);
  const auto first = applied(all, spec, 5, 2, 7);

  EXPECT_EQ(applied(all, spec, 5, 2, 7), first);
  EXPECT_NE(applied(all, spec, 6, 2, 7), first);
  EXPECT_NE(applied(all, spec, 5, 3, 7), first);
  EXPECT_NE(applied(all, spec, 5, 2, 8), first);

  std::vector<std::vector<float>> alone, together(64);
  for (int i = 0; i < 64; ++i) alone.push_back(applied(all, spec, i));
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 63 - t; i >= 0; i -= 4) together[static_cast<std::size_t>(i)] = applied(all, spec, i);
    });
  }
  threads.clear();
  EXPECT_EQ(together, alone);
}

TEST(Augment, KnownBitsStayTheSame) {
  const DataSpec spec = images(1, 2, 3);
  const Augmenter all = augmenter({{"shift", {{"max", 1}}}, {"flip"}, {"noise", {{"std", 0.5}}}}, spec);
  EXPECT_EQ(applied(all, spec, 1),
            (std::vector<float>{2.41695452F, 0.829069495F, 1.50519633F, 1.67961454F, 1.02744508F, 0.750369728F}));
}

TEST(Augment, AppendedAugmentationKeepsEarlierBits) {
  const DataSpec spec = images(1, 8, 8);
  const Augmenter one = augmenter({{"crop", {{"pad", 2}}}}, spec);
  const Augmenter two = augmenter({{"crop", {{"pad", 2}}}, {"noise", {{"std", 0}}}}, spec);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(applied(one, spec, i), applied(two, spec, i));
}

TEST(Augment, IsEmptyForEmptyInput) {
  const DataSpec spec = images(1, 2, 2);
  const Augmenter none = augmenter({}, spec);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(applied(none, spec, 1), counted(spec));
}

TEST(Augment, ReportsErrorWithLocation) {
  DataSpec table;
  table.features = graph::Shape{{64}};
  const auto expect_error = [](const std::vector<PluginConfig>& augment, const DataSpec& spec,
                               const std::string& text) {
    const auto made = Augmenter::make(augment, spec);
    ASSERT_FALSE(made.ok()) << text;
    EXPECT_EQ(made.error().code, Code::kInvalidArgument);
    EXPECT_EQ(made.error().text(), text);
  };
  const DataSpec small = images(1, 8, 4);

  expect_error({{"noise"}, {"flop"}}, small,
               "data.augment[1]: flop: unknown; allowed: crop, flip, shift, erase, noise; did you mean 'flip'?");
  for (const std::string name : {"crop", "flip", "shift", "erase"}) {
    expect_error({{name}}, table,
                 "data.augment[0]: " + name + ": changes images of shape [C,H,W], the samples here are " +
                     table.features.text());
  }
  expect_error({{"crop", {{"pad", 4}}}}, small,
               "data.augment[0].pad: crop: 4 pixels are too many for images of shape " + small.features.text() +
                   "; it must be below both sides");
  expect_error({{"crop", {{"pad", 0}}}}, small, "data.augment[0].pad: crop: 0 is out of bounds; it must be at least 1");
  expect_error({{"noise", {{"std", -1}}}}, small,
               "data.augment[0].std: noise: -1.0 is out of bounds; it must be between 0 and 1000000");
  expect_error({{"flip", {{"axsi", "vertical"}}}}, small,
               "data.augment[0].axsi: flip: unknown option 'axsi'; did you mean 'axis'? (known: axis)");
}

}  // namespace
}  // namespace lanista::data
