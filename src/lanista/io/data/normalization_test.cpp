#include "lanista/io/data/normalization.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

TEST(Normalization, AppliesGlobalChannelOrFeatureEntries) {
  const std::vector<float> rows = {1, 2, 3, 4, 5, 6, 7, 8};  // two rows of four features
  const auto normalised = [&](const Normalization& by) {
    std::vector<float> out = rows;
    by.apply(out, 4);
    return out;
  };

  EXPECT_EQ(normalised({}), rows);
  EXPECT_EQ(normalised({.mean = {1}, .scale = {2}}), (std::vector<float>{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5}));
  EXPECT_EQ(normalised({.mean = {1, 3}, .scale = {1, 2}}), (std::vector<float>{0, 1, 0, 0.5, 4, 5, 2, 2.5}));
  EXPECT_EQ(normalised({.mean = {1, 2, 3, 4}, .scale = {4, 4, 4, 4}}), (std::vector<float>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Normalization, FitsEveryEntryToTheGivenRowsAlone) {
  Rng rng(5);
  constexpr std::int64_t kWidth = 12;
  std::vector<float> features;
  for (int i = 0; i < 40 * kWidth; ++i)
    features.push_back(static_cast<float>(rng.normal() * 3 + static_cast<double>(i % kWidth / 4 * 10)));
  std::vector<std::int64_t> rows;
  for (std::int64_t r = 0; r < 30; ++r) rows.push_back(r);
  std::vector<float> others = features;
  for (std::size_t i = 30 * kWidth; i < others.size(); ++i) others[i] = 1e6F;

  const Normalization fitted = fit_normalization(features, kWidth, 3, rows);

  ASSERT_EQ(fitted.mean.size(), 3U);
  EXPECT_EQ(fitted, fit_normalization(others, kWidth, 3, rows));
  fitted.apply(features, kWidth);
  for (std::size_t entry = 0; entry < 3; ++entry) {
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < 30 * kWidth; ++i) {
      if (i % kWidth / 4 != entry) continue;
      sum += static_cast<double>(features[i]);
      squares += static_cast<double>(features[i]) * static_cast<double>(features[i]);
    }
    EXPECT_NEAR(sum / 120, 0, 1e-6);
    EXPECT_NEAR(squares / 120, 1, 1e-5);
  }
  EXPECT_EQ(fit_normalization(std::vector<float>(8, 3), 4, 1, std::vector<std::int64_t>{0, 1}),
            (Normalization{.mean = {3}, .scale = {1}}))
      << "what is constant is not blown up";
}

TEST(Normalization, UndoInvertsApply) {
  Rng rng(6);
  const Normalization by{.mean = {0.3, -7}, .scale = {2.5, 11}};
  std::vector<float> rows, repeated;
  for (int i = 0; i < 64; ++i) rows.push_back(static_cast<float>(rng.normal()));
  repeated = rows;

  by.apply(repeated, 8);
  EXPECT_NE(repeated, rows);
  by.undo(repeated, 8);

  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_NEAR(repeated[i], rows[i], 1e-5);
}

TEST(Normalization, CountsEntriesByTheShape) {
  EXPECT_EQ(normalization_entries({{64}}), 1);
  EXPECT_EQ(normalization_entries({{1, 8, 8}}), 1);
  EXPECT_EQ(normalization_entries({{3, 32, 32}}), 3);
  EXPECT_EQ(normalization_entries({{5, 7}}), 1);
}

TEST(Normalization, RoundTripsAndReportsErrors) {
  const Normalization by{.mean = {1.0 / 3, -2e-300}, .scale = {0.1, 3e200}};
  const auto repeated = parse_normalization(nlohmann::json::parse(normalization_json(by).dump()), 6);
  ASSERT_TRUE(repeated.ok());
  EXPECT_EQ(*repeated, by);

  const auto refused = [](const char* text, std::int64_t width) {
    const auto parsed = parse_normalization(nlohmann::json::parse(text), width);
    return parsed ? std::string() : std::string(code_name(parsed.error().code)) + " " + parsed.error().message;
  };
  EXPECT_EQ(refused(R"({"mean": [1]})", 4), "data_loss normalization: \"scale\" is not a list of numbers");
  EXPECT_EQ(refused(R"([])", 4), "data_loss normalization: \"mean\" is not a list of numbers");
  EXPECT_EQ(refused(R"({"mean": [1], "scale": ["x"]})", 4),
            "data_loss normalization: \"scale\" holds \"x\", which is no finite number");
  EXPECT_EQ(refused(R"({"mean": [1, 2, 3], "scale": [1, 2, 3]})", 4),
            "data_loss normalization: 3 means and 3 scales do not fit 4 features");
  EXPECT_EQ(refused(R"({"mean": [], "scale": []})", 4),
            "data_loss normalization: 0 means and 0 scales do not fit 4 features");
  EXPECT_EQ(refused(R"({"mean": [1], "scale": [0]})", 4), "data_loss normalization: a scale is 0");
}

}  // namespace
}  // namespace lanista::data
