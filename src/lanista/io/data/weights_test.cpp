#include "lanista/io/data/weights.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lanista/base/rng.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

/// Random rows of some classes. The last class has no row in training.
struct RandomRows {
  RawData raw;
  std::vector<std::int64_t> train;
};

RandomRows random_rows(std::uint64_t seed, bool with_weights) {
  Rng rng(seed);
  RandomRows out;
  const auto classes = static_cast<std::int32_t>(rng.between(2, 5));
  out.raw.spec.features.dims = {1};
  out.raw.spec.classes = classes + 1;
  for (std::int32_t c = 0; c <= classes; ++c) out.raw.spec.labels.push_back("c" + std::to_string(c));
  const std::int64_t rows = rng.between(20, 60);
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool trained = row < classes || rng.bernoulli(0.7);
    const auto label = row < classes ? static_cast<std::int32_t>(row)
                                     : static_cast<std::int32_t>(rng.between(0, trained ? classes - 1 : classes));
    out.raw.features.push_back(0);
    out.raw.labels.push_back(label);
    if (with_weights) out.raw.weights.push_back(static_cast<float>(rng.uniform(0.1, 9)));
    if (trained) out.train.push_back(row);
  }
  return out;
}

TEST(RowWeights, AreEmptyByDefault) {
  const RandomRows rows = random_rows(1, false);
  const auto weights = row_weights(rows.raw, rows.train, {});
  ASSERT_TRUE(weights);
  EXPECT_TRUE(weights->empty());
}

// scikit-learn: n_samples / (n_classes * np.bincount(y)), for the present classes; its mean over the rows is 1.
TEST(RowWeights, BalancedEqualScikitLearn) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomRows rows = random_rows(seed, false);
    std::map<std::int32_t, double> counts;
    for (const std::int64_t row : rows.train) ++counts[rows.raw.labels[static_cast<std::size_t>(row)]];

    const auto weights = row_weights(rows.raw, rows.train, {.balanced = true, .of = {}});

    ASSERT_TRUE(weights);
    for (const std::int64_t row : rows.train) {
      const double expected =
          static_cast<double>(rows.train.size()) /
          (static_cast<double>(counts.size()) * counts.at(rows.raw.labels[static_cast<std::size_t>(row)]));
      EXPECT_NEAR(double{(*weights)[static_cast<std::size_t>(row)]}, expected, 1e-6 * expected) << seed;
    }
  }
}

TEST(RowWeights, AreProductsWithMeanOne) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const RandomRows rows = random_rows(seed, seed % 2 == 0);
    study::ClassWeights classes;
    if (seed % 3 != 0) classes.of = {{"c0", 2.0}, {"c1", seed % 3 == 1 ? 0.0 : 0.5}};
    const auto weights = row_weights(rows.raw, rows.train, classes);
    ASSERT_TRUE(weights);
    if (weights->empty()) continue;
    const auto weight_of = [&](std::size_t row) {
      const std::int32_t label = rows.raw.labels[row];
      const double of_class = !classes ? 1 : label == 0 ? 2.0 : label == 1 ? classes.of.at("c1") : 1.0;
      return of_class * (rows.raw.weights.empty() ? 1.0 : double{rows.raw.weights[row]});
    };
    double sum = 0, all = 0;
    for (const std::int64_t row : rows.train) {
      sum += double{(*weights)[static_cast<std::size_t>(row)]};
      all += weight_of(static_cast<std::size_t>(row));
    }
    EXPECT_NEAR(sum, static_cast<double>(rows.train.size()), 1e-4);
    for (std::size_t row = 0; row < weights->size(); ++row) {
      EXPECT_NEAR(double{(*weights)[row]} * all, weight_of(row) * static_cast<double>(rows.train.size()), 1e-4 * all)
          << row;
    }
  }
}

TEST(RowWeights, ReportNearestNameForUnknownClass) {
  RandomRows rows = random_rows(3, false);
  const auto refused = [&](const study::ClassWeights& classes, const std::string& message) {
    const auto weights = row_weights(rows.raw, rows.train, classes);
    ASSERT_FALSE(weights);
    EXPECT_NE(weights.error().message.find(message), std::string::npos) << weights.error().message;
  };
  refused({.balanced = false, .of = {{"c00", 1}}}, "'c00' is no class of '");
  refused({.balanced = false, .of = {{"c00", 1}}}, "did you mean 'c0'?");
  refused({.balanced = false, .of = {{"c0", -1}}}, "allowed is 0 to 1e6");
  study::ClassWeights none;
  for (const std::string& name : rows.raw.spec.labels) none.of[name] = 0;
  refused(none, "weigh 0");
  rows.raw.spec.classes = 0;
  refused({.balanced = true, .of = {}}, "are no classes; rows are weighted by a column (weight=COLUMN)");
}

class WeightedTable : public InMemoryDataTest {
 protected:
  static std::string rows(const std::function<std::string(int)>& weight) {
    std::string text = "x,w,y\n";
    for (int i = 0; i < 40; ++i) {
      text += std::to_string(i) + "," + weight(i) + "," + (i % 4 == 0 ? "yes" : "no") + "\n";
    }
    return text;
  }
  static std::vector<float> weights_of(const Dataset& set) {
    std::vector<float> out(static_cast<std::size_t>(set.spec().rows));
    set.gather_weights(all_rows(set), out);
    return out;
  }
};

TEST_F(WeightedTable, ReadsWeightColumnAndExcludesItFromFeatures) {
  write("/t.csv", rows([](int i) { return std::to_string(i % 5); }));
  const auto plain = get("csv:/t.csv?drop=w");
  const auto set = get("csv:/t.csv?weight=w");
  ASSERT_TRUE(plain.ok() && set.ok()) << set.error().text();
  EXPECT_FALSE(plain->weighted());
  EXPECT_EQ(set->spec().features, graph::Shape{{1}});
  EXPECT_EQ(features_of(*set), features_of(*plain));
  EXPECT_NE(set->spec().hash, plain->spec().hash);
  const auto weights = weights_of(*set);
  double mean = 0;
  for (const std::int64_t row : set->rows(Part::kTrain)) mean += static_cast<double>(row % 5);
  mean /= static_cast<double>(set->rows(Part::kTrain).size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(double{weights[i]}, static_cast<double>(i % 5) / mean, 1e-6) << i;
  }
  EXPECT_NE(schema_text(set->spec()).find("w  weight    how much a row counts"), std::string::npos);
  write("/t.csv", rows([](int i) { return std::to_string(i % 5 + 1); }));
  EXPECT_NE(get("csv:/t.csv?weight=w")->spec().hash, set->spec().hash) << "weights of a source are its numbers";
  // New rows need none.
  write("/new.csv", "x\n3\n4\n");
  const auto raw = read_raw(set->spec(), "/new.csv", disk_);
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->rows(), 2);
}

TEST_F(WeightedTable, ReportsRowOfInvalidWeight) {
  const auto refused = [&](const std::string& cell, const std::string& message) {
    write("/t.csv", rows([&](int i) { return i == 6 ? cell : std::string("1"); }));
    expect_error("csv:/t.csv?weight=w", Code::kDataLoss, message);
  };
  refused("-1", "column \"w\": the weight of row 7 is \"-1\"; weights are finite numbers from 0 on");
  refused("", "the weight of row 7 is missing");
  refused("much", "row 7 holds \"much\", which is not a number");
  refused("1e60", "weights are finite numbers");
  write("/t.csv", rows([](int) { return "0"; }));
  expect_error("csv:/t.csv?weight=w", Code::kDataLoss, "all training rows of 't' weigh 0");
  expect_error("csv:/t.csv?weight=y", Code::kInvalidArgument, "weight= names the target \"y\"");
  expect_error("csv:/t.csv?weight=v", Code::kInvalidArgument, "no column \"v\"");
  expect_error("csv:/t.csv?weight=w&numeric=w", Code::kInvalidArgument, "has a declared kind, yet is no feature");
}

TEST_F(WeightedTable, ClassWeightsDoNotChangeDataHash) {
  write("/t.csv", rows([](int) { return "1"; }));
  study::DataConfig config;
  config.source = "csv:/t.csv?drop=w";
  const auto plain = open(config, "", disk_);
  config.class_weights.balanced = true;
  const auto balanced = open(config, "", disk_);
  config.class_weights = {.balanced = false, .of = {{"yes", 3}}};
  const auto named = open(config, "", disk_);
  ASSERT_TRUE(plain.ok() && balanced.ok() && named.ok());
  EXPECT_TRUE(balanced->weighted() && named->weighted());
  EXPECT_EQ(plain->spec().hash, balanced->spec().hash) << "studies of the same rows are compared";
  std::map<std::int32_t, double> sums;
  const auto labels = labels_of(*balanced);
  const auto weights = weights_of(*balanced), three = weights_of(*named);
  float of_yes = 0, of_no = 0;
  for (const std::int64_t row : balanced->rows(Part::kTrain)) {
    const auto i = static_cast<std::size_t>(row);
    sums[labels[i]] += double{weights[i]};
    (balanced->spec().labels[static_cast<std::size_t>(labels[i])] == "yes" ? of_yes : of_no) = three[i];
  }
  EXPECT_NEAR(sums[0], sums[1], 1e-4) << "each class as much as the other";
  EXPECT_NEAR(double{of_yes / of_no}, 3, 1e-6);
}

}  // namespace
}  // namespace lanista::data
