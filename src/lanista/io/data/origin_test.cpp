// Columns with a large mean and a small deviation: statistics, stored numbers and new rows against the numbers in
// double.
#include "lanista/io/data/origin.h"

#include <cmath>
#include <limits>
#include <sstream>

#include "lanista/base/rng.h"
#include "lanista/io/data/catalog.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

using Numbers = std::vector<double>;

std::string text_of(double x) {
  std::ostringstream out;
  out.precision(17);
  out << x;
  return out.str();
}

/// A random column: its size from 1e-3 to 1e13, its deviation from 1e-13 of it to all of it.
Numbers random_column(Rng& rng, std::size_t rows) {
  const double size = std::pow(10.0, rng.uniform(-3, 13)) * (rng.bernoulli(0.5) ? 1 : -1);
  const double deviation = std::fabs(size) * std::pow(10.0, rng.uniform(-13, 0));
  Numbers out(rows);
  for (double& x : out) x = size + deviation * rng.normal();
  return out;
}

struct Fitted {
  long double mean = 0, scale = 0;
};
Fitted fitted(const Numbers& values, const std::vector<std::int64_t>& rows) {
  Fitted out;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) out.mean += values[static_cast<std::size_t>(*row)];
  out.mean /= static_cast<long double>(rows.size());
  for (const std::int64_t row : rows) {
    const long double away = values[static_cast<std::size_t>(row)] - out.mean;
    out.scale += away * away;
  }
  out.scale = std::sqrt(out.scale / static_cast<long double>(rows.size()));
  return out;
}

class Origins : public InMemoryDataTest {
 protected:
  Result<Dataset> of(const std::string& source, std::optional<std::int64_t> folds = {}, std::int64_t rules = 2,
                     const std::string& normalize = "auto", const std::string& targets = "auto") {
    study::DataConfig config;
    config.source = source;
    config.folds = folds;
    config.rules = rules;
    config.normalize = normalize;
    config.targets = targets;
    return open(config, "", disk_);
  }
  /// Writes columns as table.csv, with the last one as target y.
  void write_table(const std::vector<Numbers>& columns) {
    std::string text;
    for (std::size_t c = 0; c < columns.size(); ++c)
      text += c + 1 < columns.size() ? "x" + std::to_string(c) + "," : "y\n";
    for (std::size_t row = 0; row < columns[0].size(); ++row) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        text += text_of(columns[c][row]) + (c + 1 < columns.size() ? "," : "\n");
      }
    }
    write("table.csv", text);
  }
  void write_arrays(const std::vector<Numbers>& columns) {
    const std::size_t rows = columns[0].size(), features = columns.size() - 1;
    Numbers x;
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t c = 0; c < features; ++c) x.push_back(columns[c][row]);
    }
    const auto n = static_cast<std::int64_t>(rows);
    write("x.npy", formats::encode_npy(tensor_of(ElementType::kF64, {n, static_cast<std::int64_t>(features)}, x)));
    write("y.npy", formats::encode_npy(tensor_of(ElementType::kF64, {n}, columns.back())));
  }
  /// Checks features and targets as training reads them against double, for the rows of `set`.
  static void expect_near(const Dataset& set, const std::vector<Numbers>& columns) {
    const DataSpec& spec = set.spec();
    const std::vector<float> features = features_of(set);
    std::vector<float> targets(static_cast<std::size_t>(spec.rows));
    set.gather_targets(all_rows(set), targets);
    const std::size_t width = columns.size() - 1;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const Fitted right = fitted(columns[c], set.rows(Part::kTrain));
      const bool target = c == width;
      const Normalization& found = target ? *spec.target_normalization : spec.normalization;
      const std::size_t entry = target ? 0 : c;
      const double scale = static_cast<double>(right.scale);
      EXPECT_NEAR(found.mean[entry], static_cast<double>(right.mean),
                  1e-6 * scale + 1e-15 * std::fabs(static_cast<double>(right.mean)));
      EXPECT_NEAR(found.scale[entry], scale, 1e-5 * scale);
      for (std::size_t row = 0; row < columns[c].size(); ++row) {
        const auto expected = static_cast<double>((columns[c][row] - right.mean) / right.scale);
        const auto seen = static_cast<double>(target ? targets[row] : features[row * width + c]);
        // The mean is rounded to a double too, which moves all rows alike.
        const double mean_step = 2.3e-16 * std::fabs(static_cast<double>(right.mean)) / scale;
        ASSERT_NEAR(seen, expected, 3e-5 * (1 + std::fabs(expected)) + mean_step) << "column " << c << ", row " << row;
      }
    }
  }

  static constexpr std::size_t kRows = 60;
};

TEST_F(Origins, KeepDigitsOfRandomTables) {
  Rng rng(11);
  int with_origin = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<Numbers> columns;
    for (int c = 0; c < 4; ++c) columns.push_back(random_column(rng, kRows));
    write_table(columns);

    const auto set = of("csv:table.csv?target=y&task=numbers");

    ASSERT_TRUE(set.ok()) << set.error().text();
    expect_near(*set, columns);
    expect_same_rows(*set, "table.csv");
    with_origin += set->spec().origin.empty() ? 0 : 1;
  }
  EXPECT_GT(with_origin, 20);
}

TEST_F(Origins, KeepDigitsOfRandomArrays) {
  Rng rng(12);
  int with_origin = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<Numbers> columns;
    for (int c = 0; c < 4; ++c) columns.push_back(random_column(rng, kRows));
    columns[0] = random_column(rng, kRows);
    for (double& x : columns[0]) x = 1.7e9 + 1e4 * rng.normal();
    write_arrays(columns);

    const auto set = of("npy:x.npy,y.npy?task=numbers");

    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_EQ(set->spec().origin.size(), 3U);
    expect_near(*set, columns);
    expect_same_rows(*set, "npy:x.npy,y.npy");
    with_origin += set->spec().target_origin.empty() ? 0 : 1;
  }
  EXPECT_GT(with_origin, 5);
}

TEST_F(Origins, OfFoldsAreEqualAndKeepDigits) {
  Rng rng(13);
  std::vector<Numbers> columns(3, Numbers(kRows));
  for (std::size_t row = 0; row < kRows; ++row) {
    columns[0][row] = 1.7e9 + 1000 * rng.normal();
    columns[1][row] = rng.normal();
    columns[2][row] = -3e9 + rng.normal();
  }
  write_table(columns);

  const auto set = of("csv:table.csv?target=y", 3);

  ASSERT_TRUE(set.ok()) << set.error().text();
  for (std::int64_t fold = 0; fold < 3; ++fold) {
    const Dataset& training = set->training(fold);
    EXPECT_EQ(training.spec().origin, set->spec().origin);
    EXPECT_EQ(training.spec().target_origin, set->spec().target_origin);
    expect_near(training, columns);
    expect_same_rows(training, "table.csv");
  }
  nlohmann::json json = spec_json(set->spec());
  EXPECT_TRUE(parse_spec(json).ok());
  json["folds"][1]["normalization"] = {{"mean", {1e9}}, {"scale", {2}}};
  const auto refused = parse_spec(json);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("\"origin\" does not fit"), std::string::npos) << refused.error().message;
}

TEST_F(Origins, OfInt64ArraysKeepUnixTimes) {
  std::vector<std::int64_t> times, prices;
  Numbers x, y;
  for (std::int64_t row = 0; row < 50; ++row) {
    times.push_back(1'700'000'000 + 7 * row);
    prices.push_back(9'000'000'000'001 + 3 * (row * row % 11));
    x.push_back(static_cast<double>(times.back()));
    y.push_back(static_cast<double>(prices.back()));
  }
  write("x.npy", formats::encode_npy(tensor_of(ElementType::kI64, {50, 1}, times)));
  write("y.npy", formats::encode_npy(tensor_of(ElementType::kI64, {50}, prices)));

  const auto set = of("npy:x.npy,y.npy?task=numbers");

  ASSERT_TRUE(set.ok()) << set.error().text();
  expect_near(*set, {x, y});
}

TEST_F(Origins, ReplaceMissingNumbersByTheMean) {
  std::string text = "x,y\n";
  for (int row = 0; row < 40; ++row) {
    text += (row % 5 == 0 ? std::string() : text_of(1.7e9 + row)) + "," + text_of(row * 0.5) + "\n";
  }
  write("table.csv", text);
  for (const std::optional<std::int64_t> folds : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
    const auto set = of("csv:table.csv?target=y&task=numbers", folds);

    ASSERT_TRUE(set.ok()) << set.error().text();
    for (std::size_t row = 0; row < 40; row += 5) EXPECT_NEAR(double{features_of(*set)[row]}, 0, 1e-6) << row;
    expect_same_rows(*set, "table.csv");
  }
}

TEST_F(Origins, AreAbsentWhereFloat32IsEnough) {
  Rng rng(14);
  std::vector<Numbers> columns(5, Numbers(kRows));
  for (std::size_t row = 0; row < kRows; ++row) {
    columns[0][row] = static_cast<double>(2000 + rng.below(24));      // a year: exact
    columns[1][row] = 5.8 + 0.8 * rng.normal();                       // a length in cm
    columns[2][row] = static_cast<double>(8'000'000 + rng.below(9));  // whole numbers below 2^24
    columns[3][row] = rng.bernoulli(0.02) ? 1e12 : rng.normal();      // outliers
    columns[4][row] = 2e5 + 8e4 * rng.normal();
  }
  write_table(columns);

  const auto set = of("csv:table.csv?target=y"), by_first_rules = of("csv:table.csv?target=y", {}, 1);

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->spec().origin.empty());
  EXPECT_TRUE(set->spec().target_origin.empty());
  EXPECT_EQ(set->spec().hash, by_first_rules->spec().hash);
  EXPECT_FALSE(spec_json(set->spec()).contains("origin"));
}

TEST_F(Origins, AreNotOfTheFirstRules) {
  Rng rng(15);
  std::vector<Numbers> columns(2, Numbers(kRows));
  for (Numbers& column : columns) {
    for (double& x : column) x = 1e9 + rng.normal();
  }
  write_table(columns);

  const auto old = of("csv:table.csv?target=y", {}, 1), renewed = of("csv:table.csv?target=y", {}, 2);

  ASSERT_TRUE(old.ok() && renewed.ok());
  EXPECT_TRUE(old->spec().origin.empty() && old->spec().target_origin.empty());
  EXPECT_EQ(renewed->spec().origin, Numbers{1e9});
  EXPECT_EQ(renewed->spec().target_origin, Numbers{1e9});
  EXPECT_NE(old->spec().hash, renewed->spec().hash);
  EXPECT_TRUE(renewed->data_warnings().empty());
}

TEST_F(Origins, AreStoredInTheSpecification) {
  write_table({Numbers{1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.3, 1e9 + 0.4, 1e9 + 0.5, 1e9 + 0.7, 1e9 + 0.8, 1e9 + 0.9},
               Numbers{3e9 + 0.1, 3e9 + 0.2, 3e9 + 0.3, 3e9 + 0.4, 3e9 + 0.5, 3e9 + 0.7, 3e9 + 0.8, 3e9 + 0.9}});
  const auto set = of("csv:table.csv?target=y");
  ASSERT_TRUE(set.ok()) << set.error().text();
  const nlohmann::json json = spec_json(set->spec());

  const auto read = parse_spec(json);

  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->origin, set->spec().origin);
  EXPECT_EQ(read->target_origin, set->spec().target_origin);
  for (const char* key : {"origin", "target_origin"}) {
    for (const nlohmann::json& wrong : {nlohmann::json("x"), nlohmann::json({1, 2}), nlohmann::json({{"a", 1}})}) {
      nlohmann::json changed = json;
      changed[key] = wrong;
      const auto refused = parse_spec(changed);
      ASSERT_FALSE(refused.ok()) << changed[key];
      EXPECT_NE(refused.error().message.find(key), std::string::npos) << refused.error().message;
    }
  }
}

TEST_F(Origins, WarnWhereFloat32IsAllThereIs) {
  std::vector<float> x, y;
  Rng rng(16);
  for (std::size_t row = 0; row < kRows; ++row) {
    x.push_back(static_cast<float>(rng.normal()));
    x.push_back(static_cast<float>(1e9 + 500 * rng.normal()));
    y.push_back(static_cast<float>(1e6 + rng.normal()));
  }
  write("x.npy", formats::encode_npy(tensor_of(ElementType::kF32, {kRows, 2}, x)));
  write("y.npy", formats::encode_npy(tensor_of(ElementType::kF32, {kRows}, y)));

  const auto set = of("npy:x.npy,y.npy?task=numbers");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->spec().origin.empty());
  ASSERT_EQ(set->data_warnings().size(), 2U);
  EXPECT_EQ(set->data_warnings()[0].substr(0, 56), "feature 1 loses digits: float32 near 1e+09 has steps of ");
  EXPECT_NE(set->data_warnings()[0].find("a file with float64 keeps the digits"), std::string::npos);
  EXPECT_EQ(set->data_warnings()[1].substr(0, 24), "target 0 loses digits: f");
}

TEST_F(Origins, WarnWhereNothingIsNormalised) {
  Rng rng(17);
  std::vector<Numbers> columns(3, Numbers(kRows));
  for (std::size_t row = 0; row < kRows; ++row) {
    columns[0][row] = 1e9 + 10 * rng.normal();
    columns[1][row] = rng.normal();
    columns[2][row] = 1e9 + 10 * rng.normal();
  }
  write_table(columns);

  const auto set = of("csv:table.csv?target=y", {}, 2, "none", "raw");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->spec().origin.empty() && set->spec().target_origin.empty());
  ASSERT_EQ(set->data_warnings().size(), 2U);
  EXPECT_EQ(set->data_warnings()[0].substr(0, 63), "column \"x0\" loses digits: float32 near 1e+09 has steps of 64, t");
  EXPECT_NE(set->data_warnings()[0].find("data.normalize: auto"), std::string::npos);
  EXPECT_NE(set->data_warnings()[1].find("target \"y\""), std::string::npos);
  EXPECT_NE(set->data_warnings()[1].find("data.targets: standardize"), std::string::npos);
}

TEST_F(Origins, AreAddedInReportsOfData) {
  write_table({Numbers{1e9 + 0.25, 1e9 + 0.5, 1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4, 1e9 + 5, 1e9 + 6.5},
               Numbers{3e9 + 0.25, 3e9 + 0.5, 3e9 + 1, 3e9 + 2, 3e9 + 3, 3e9 + 4, 3e9 + 5, 3e9 + 6.5}});
  study::DataConfig config;
  config.source = "csv:table.csv?target=y&task=numbers";

  const auto report = check_source(config, "", disk_);

  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_EQ(report->min, 1e9 + 0.25);
  EXPECT_EQ(report->max, 1e9 + 6.5);
  EXPECT_EQ(report->target_min, 3e9 + 0.25);
  EXPECT_EQ(report->target_max, 3e9 + 6.5);
}

TEST(FitOrigin, IsShortAndNearTheMean) {
  EXPECT_EQ(fit_origin(Numbers{1e9 + 3.1, 1e9 - 4.2, 1e9 + 7.3}), 1e9);
  EXPECT_EQ(fit_origin(Numbers{1700000123.5, 1700000124.5}), 1700000124);
  EXPECT_EQ(fit_origin(Numbers{123456789.25, 123456789.25}), 123456789.25);  // a constant keeps all digits
  EXPECT_EQ(fit_origin(Numbers{1e9 + 0.5, std::numeric_limits<double>::quiet_NaN(), 1e9 + 2}), 1e9 + 1);
  EXPECT_EQ(fit_origin(Numbers{}), 0);
  EXPECT_EQ(fit_origin(Numbers{1e300, 1e300}), 0);
  EXPECT_EQ(fit_origin(Numbers{0.1, 0.2, 0.3}), 0);
}

TEST(Float32Spacing, IsThatOfTheFormat) {
  EXPECT_EQ(float32_spacing(1e9), 64);
  EXPECT_EQ(float32_spacing(-1), std::ldexp(1.0, -23));
  EXPECT_EQ(float32_spacing(16777216), 2);
  EXPECT_EQ(float32_spacing(1e300), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace lanista::data
