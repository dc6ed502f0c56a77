// Arrays [rows, columns] are tables: each column has a mean and a deviation.
#include <gtest/gtest.h>

#include "lanista/io/data/dataset.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class ArrayScales : public RuledDataTest {
 protected:
  /// Writes x.npy and y.npy: three columns of different scale, and a sum of them.
  void save_arrays(std::int64_t count, bool flat = true) {
    Tensor x{.name = "", .type = ElementType::kF64, .shape = {count, 3}, .bytes = {}}, y = x;
    if (!flat) x.shape = {count, 1, 3};
    y.shape = {count};
    const auto add = [](Tensor& to, double value) {
      const auto bytes = std::as_bytes(std::span(&value, 1));
      to.bytes.insert(to.bytes.end(), bytes.begin(), bytes.end());
    };
    for (std::int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<double>(i * 37 % count);
      for (const double value : {at, 1e5 * at * at, 1e-3 * at}) add(x, value);
      add(y, at / 4 + 0.125);
    }
    write("x.npy", formats::encode_npy(x));
    write("y.npy", formats::encode_npy(y));
  }
};

TEST_F(ArrayScales, ColumnsOfAnArrayHaveTheirOwnScales) {
  save_arrays(40);
  const auto set = get("npy:x.npy,y.npy");
  ASSERT_TRUE(set.ok()) << set.error().text();
  std::string text = "a,b,c,y\n";
  for (int i = 0; i < 40; ++i) {
    const int at = i * 37 % 40;
    text += std::to_string(at) + "," + std::to_string(100000LL * at * at) + "," + std::to_string(1e-3 * at) + "," +
            std::to_string(at / 4.0 + 0.125) + "\n";
  }
  const auto same = table(text);
  ASSERT_TRUE(same.ok()) << same.error().text();
  ASSERT_EQ(set->spec().normalization.mean.size(), 3U);
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(set->spec().normalization.mean[c], same->spec().normalization.mean[c], 1e-6 * (c == 1 ? 1e8 : 1));
    EXPECT_NEAR(set->spec().normalization.scale[c] / same->spec().normalization.scale[c], 1, 1e-5);
  }
  EXPECT_EQ(get("npy:x.npy,y.npy", study::kFirstRules)->spec().normalization.mean.size(), 1U);
  save_arrays(40, false);
  EXPECT_EQ(get("npy:x.npy,y.npy")->spec().normalization.mean.size(), 1U);
}

TEST_F(ArrayScales, StepsAndChannelsOfDifferentRangesHaveAWarning) {
  const auto warning = [&](float factor, std::vector<std::int64_t> sample) {
    Tensor x{.name = "", .type = ElementType::kF32, .shape = {24, sample[0], sample[1]}, .bytes = {}};
    for (std::int64_t i = 0; i < x.elements(); ++i) {
      const bool scaled = sample[0] > sample[1] ? i % sample[1] == 0 : i / sample[1] % sample[0] == 0;
      const float value = static_cast<float>(i * 7 % 11) * (scaled ? factor : 1);
      const auto bytes = std::as_bytes(std::span(&value, 1));
      x.bytes.insert(x.bytes.end(), bytes.begin(), bytes.end());
    }
    Tensor y{.name = "", .type = ElementType::kU8, .shape = {24}, .bytes = {}};
    for (int i = 0; i < 24; ++i) y.bytes.push_back(static_cast<std::byte>(i % 2));
    write("x.npy", formats::encode_npy(x));
    write("y.npy", formats::encode_npy(y));
    return warnings(get("npy:x.npy,y.npy"));
  };
  EXPECT_TRUE(mentions(warning(5000, {5, 3}), "axis 2 of the features [rows, 5, 3] has entries with ranges"));
  EXPECT_TRUE(mentions(warning(5000, {3, 5}), "axis 1 of the features [rows, 3, 5] has entries with ranges"));
  EXPECT_EQ(warning(500, {5, 3}), "");
}

TEST_F(ArrayScales, FoldsOfAnArrayHaveScalesOfColumns) {
  save_arrays(40);
  study::DataConfig config;
  config.source = "npy:x.npy,y.npy";
  config.folds = 4;
  config.split = {0.8, 0, 0.2};
  const auto set = open(config, folder_, real_file_system());
  ASSERT_TRUE(set.ok()) << set.error().text();
  for (const DataSpec& fold : set->spec().folds) EXPECT_EQ(fold.normalization.mean.size(), 3U);
  const auto again = parse_spec(spec_json(set->spec()));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->folds[3].normalization, set->spec().folds[3].normalization);
}

TEST_F(ArrayScales, WideArraysShareOneScale) {
  Tensor x{.name = "", .type = ElementType::kU8, .shape = {8, 100'001}, .bytes = {}};
  for (std::int64_t i = 0; i < x.elements(); ++i) x.bytes.push_back(static_cast<std::byte>(i * 7 % 251));
  write("x.npy", formats::encode_npy(x));
  Tensor y{.name = "", .type = ElementType::kU8, .shape = {8}, .bytes = {}};
  for (int i = 0; i < 8; ++i) y.bytes.push_back(static_cast<std::byte>(i % 2));
  write("y.npy", formats::encode_npy(y));
  const auto set = get("npy:x.npy,y.npy");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().normalization.mean.size(), 1U);
  EXPECT_TRUE(mentions(warnings(set), "100001 features have one mean and one deviation in common")) << warnings(set);
}

}  // namespace
}  // namespace lanista::data
