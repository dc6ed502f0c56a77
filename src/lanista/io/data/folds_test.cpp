// Data sets with folds: each training has the data of a study with that split, and nothing of its validation rows.
#include <cmath>
#include <set>
#include <sstream>

#include "lanista/base/rng.h"
#include "lanista/io/data/augment.h"
#include "lanista/io/data/epoch_cache.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class FoldedData : public InMemoryDataTest {
 protected:
  Result<Dataset> dealt(const std::string& source, std::int64_t folds, std::int64_t repetitions = 1,
                        std::array<double, 3> split = {0.7, 0.15, 0.15}, const std::string& normalize = "auto") {
    study::DataConfig config;
    config.source = source;
    config.split = split;
    config.folds = folds;
    config.normalize = normalize;
    return open(config, "", disk_, repetitions);
  }
  Result<Dataset> single(const std::string& source, std::array<double, 3> split = {0.7, 0.15, 0.15}) {
    return get(source, "auto", split);
  }
  void expect_folds_error(const Result<Dataset>& set, const std::string& message) {
    ASSERT_FALSE(set.ok());
    EXPECT_EQ(set.error().where, "data.folds");
    EXPECT_EQ(set.error().message, message);
  }

  /// A table of random numbers, gaps, categories (some of them rare) and classes.
  static std::string table(std::uint64_t seed, int rows) {
    Rng rng(seed);
    std::ostringstream text;
    text << "a,b,c,y\n";
    for (int row = 0; row < rows; ++row) {
      text << static_cast<int>(rng.below(100)) << ",";
      if (!rng.bernoulli(0.2)) text << static_cast<int>(rng.below(9));
      text << ","
           << (row % 17 == 0        ? "rare" + std::to_string(row)
               : rng.bernoulli(0.5) ? "x"
                                    : "z")
           << "," << (rng.bernoulli(0.5) ? "yes" : "no") << "\n";
    }
    return text.str();
  }
  static std::vector<float> features_at(const Dataset& set, const std::vector<std::int64_t>& rows) {
    std::vector<float> out(rows.size() * static_cast<std::size_t>(set.spec().features.elements_per_sample()));
    set.gather_features(rows, out);
    return out;
  }
};

TEST_F(FoldedData, KeepTestPartAndFoldOtherRows) {
  const auto set = dealt("builtin:digits", 5, 2), one = single("builtin:digits");
  ASSERT_TRUE(set.ok() && one.ok());
  ASSERT_EQ(set->spec().folds.size(), 10U);
  for (std::int64_t dealing = 0; dealing < 2; ++dealing) {
    std::multiset<std::int64_t> validated;
    for (std::int64_t fold = 0; fold < 5; ++fold) {
      const Dataset& training = set->training(dealing * 5 + fold);
      EXPECT_EQ(training.rows(Part::kTest), one->rows(Part::kTest));
      const auto& validation = training.rows(Part::kValidation);
      validated.insert(validation.begin(), validation.end());
      EXPECT_EQ(training.rows(Part::kTrain).size() + validation.size(), 1527U);
      EXPECT_EQ(training.spec().split_rows[1], std::ssize(validation));
    }
    EXPECT_EQ(validated.size(), 1527U);
    EXPECT_EQ(std::set<std::int64_t>(validated.begin(), validated.end()).size(), 1527U) << "each row is held out once";
  }
  EXPECT_NE(set->training(0).rows(Part::kValidation), set->training(5).rows(Part::kValidation));
  EXPECT_NE(set->spec().hash, one->spec().hash);
}

TEST_F(FoldedData, AcceptTestFractionWithoutValidation) {
  const auto set = dealt("builtin:digits", 3, 1, {0.8, 0, 0.2});
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->training(2).rows(Part::kTest).size(), 359U);
  const auto without = dealt("builtin:digits", 3, 1, {1, 0, 0});
  ASSERT_TRUE(without.ok()) << without.error().text();
  EXPECT_EQ(without->training(0).spec().split_rows[2], 0);
}

TEST_F(FoldedData, EqualManuallySplitData) {
  for (const std::string source : {"builtin:digits", "synthetic:blobs?rows=90&classes=3&features=4&seed=1"}) {
    const auto set = dealt(source, 4, 2);
    ASSERT_TRUE(set.ok());
    study::DataConfig config;
    config.source = source;
    for (std::int64_t fold = 0; fold < 8; ++fold) {
      const Dataset& training = set->training(fold);
      auto raw = open_raw(config, "", disk_);
      ASSERT_TRUE(raw.ok());
      const Split split{training.rows(Part::kTrain), training.rows(Part::kValidation), training.rows(Part::kTest)};
      const auto by_hand = Dataset::make(std::move(raw->first), split, "auto", "auto");
      ASSERT_TRUE(by_hand.ok());
      EXPECT_EQ(features_of(training), features_of(*by_hand));
      EXPECT_EQ(labels_of(training), labels_of(*by_hand));
      EXPECT_EQ(training.spec().hash, by_hand->spec().hash);
      EXPECT_EQ(training.spec().normalization, by_hand->spec().normalization);
    }
  }
}

TEST_F(FoldedData, StandardiseTargetsPerFold) {
  write("t.csv", [] {
    std::ostringstream text;
    text << "a,y\n";
    for (int row = 0; row < 60; ++row) text << row << "," << row * row << ".5\n";
    return text.str();
  }());
  const auto set = dealt("csv:t.csv", 3);
  ASSERT_TRUE(set.ok()) << set.error().text();
  for (std::int64_t fold = 0; fold < 3; ++fold) {
    const Dataset& training = set->training(fold);
    const auto& rows = training.rows(Part::kTrain);
    std::vector<float> seen(rows.size());
    training.gather_targets(rows, seen);
    double mean = 0, square = 0;
    for (const float y : seen) mean += static_cast<double>(y) / static_cast<double>(rows.size());
    for (const float y : seen) {
      square += static_cast<double>(y) * static_cast<double>(y) / static_cast<double>(rows.size());
    }
    EXPECT_NEAR(mean, 0, 1e-6);
    EXPECT_NEAR(square, 1, 1e-6);
    EXPECT_EQ(targets_of(training), targets_of(*set));
  }
  EXPECT_NE(set->training(0).spec().target_normalization->mean, set->training(1).spec().target_normalization->mean);
}

TEST_F(FoldedData, FitTablesPerFoldAndEncodeNewRows) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    write("t.csv", table(seed, 90));
    const auto set = dealt("csv:t.csv?task=classes", 3, 2, {0.7, 0.15, 0.15}, seed % 3 == 0 ? "none" : "auto");
    ASSERT_TRUE(set.ok()) << set.error().text();
    const std::size_t width = static_cast<std::size_t>(set->spec().features.elements_per_sample());
    bool any_unseen = false;
    for (std::int64_t fold = 0; fold < 6; ++fold) {
      const Dataset& training = set->training(fold);
      ASSERT_EQ(training.spec().features, set->spec().features);
      any_unseen |= training.spec().schema.dump().find("unseen") != std::string::npos;
      // Column a: whole numbers without gaps.
      const auto train = features_at(training, training.rows(Part::kTrain));
      double mean = 0;
      for (std::size_t i = 0; i < train.size(); i += width) mean += static_cast<double>(train[i]);
      mean /= static_cast<double>(train.size() / width);
      if (seed % 3 != 0) {
        EXPECT_NEAR(mean, 0, 1e-6);
      }
      for (const float x : features_of(training)) EXPECT_TRUE(std::isfinite(x));
      expect_same_rows(training, "t.csv");
      const auto back = parse_spec(spec_json(*training_spec(set->spec(), fold)));
      ASSERT_TRUE(back.ok()) << back.error().text();
      EXPECT_EQ(spec_json(*back), spec_json(training.spec()));
    }
    EXPECT_TRUE(any_unseen) << "rare categories are in one fold alone";
    const auto whole = parse_spec(spec_json(set->spec()));
    ASSERT_TRUE(whole.ok()) << whole.error().text();
    EXPECT_EQ(spec_json(*whole), spec_json(set->spec()));
    for (std::int64_t fold = 0; fold < 6; ++fold) {
      EXPECT_EQ(spec_json(*training_spec(*whole, fold)), spec_json(set->training(fold).spec()));
    }
  }
}

TEST_F(FoldedData, ExcludeFoldRowsFromTraining) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const std::string before = table(seed, 80);
    write("t.csv", before);
    const auto set = dealt("csv:t.csv?task=classes", 4);
    ASSERT_TRUE(set.ok());
    for (std::int64_t fold = 0; fold < 4; ++fold) {
      const auto& held = set->training(fold).rows(Part::kValidation);
      std::istringstream lines(before);
      std::ostringstream changed;
      std::string line;
      for (std::int64_t row = -1; std::getline(lines, line); ++row) {
        // Gaps and categories do not change, since they decide the number of features.
        if (std::ranges::binary_search(held, row)) line = "987654" + line.substr(line.find(','));
        changed << line << "\n";
      }
      write("t.csv", changed.str());
      const auto wild = dealt("csv:t.csv?task=classes", 4);
      ASSERT_TRUE(wild.ok());
      const Dataset& a = set->training(fold);
      const Dataset& b = wild->training(fold);
      ASSERT_EQ(a.rows(Part::kTrain), b.rows(Part::kTrain));
      EXPECT_EQ(features_at(a, a.rows(Part::kTrain)), features_at(b, b.rows(Part::kTrain)));
      EXPECT_NE(features_at(a, held), features_at(b, held));
      const std::int64_t other = (fold + 1) % 4;
      const auto& seen = set->training(other).rows(Part::kTrain);
      EXPECT_NE(features_at(set->training(other), seen), features_at(wild->training(other), seen));
    }
  }
}

TEST_F(FoldedData, AugmentLikeManualSplitAndShareEpochsPerFold) {
  const auto set = dealt("builtin:digits", 3);
  ASSERT_TRUE(set.ok());
  const std::vector<study::PluginConfig> augment{{"shift", nlohmann::json::object()},
                                                 {"crop", {{"pad", 1}}},
                                                 {"flip", nlohmann::json::object()},
                                                 {"erase", nlohmann::json::object()},
                                                 {"noise", nlohmann::json::object()}};
  ASSERT_NE(set->fold_union(), nullptr);
  EXPECT_EQ(set->fold_union()->rows(Part::kTrain).size(), 1527U);
  EpochCache fold_union(*set->fold_union(), std::int64_t{1} << 30, nullptr), small(*set->fold_union(), 1000, nullptr);
  for (std::int64_t fold = 0; fold < 3; ++fold) {
    const Dataset& training = set->training(fold);
    auto raw = open_raw({}, "", disk_);
    ASSERT_TRUE(raw.ok());
    const auto by_hand = *Dataset::make(
        std::move(raw->first),
        {training.rows(Part::kTrain), training.rows(Part::kValidation), training.rows(Part::kTest)}, "auto", "auto");
    const auto own = *Augmenter::make(augment, training.spec()), other = *Augmenter::make(augment, by_hand.spec());
    EpochCache cache(training, std::int64_t{1} << 30, nullptr), reference(by_hand, std::int64_t{1} << 30, nullptr);
    const auto epoch = cache.get(augment, own, 7, 2), expected = reference.get(augment, other, 7, 2);
    ASSERT_TRUE(epoch && expected);
    EXPECT_EQ(epoch->rows, expected->rows);
    EXPECT_EQ(epoch->features, expected->features);
    EXPECT_EQ(own.num_leading_moves(), 4U);
    EpochCache sharing(training, std::int64_t{1} << 30, nullptr, &fold_union),
        without(training, std::int64_t{1} << 30, nullptr, &small);
    EXPECT_EQ(sharing.get(augment, own, 7, 2)->features, expected->features);
    EXPECT_EQ(
        sharing.get(std::span(augment).first(2), *Augmenter::make(std::span(augment).first(2), training.spec()), 7, 2)
            ->features,
        reference.get(std::span(augment).first(2), *Augmenter::make(std::span(augment).first(2), by_hand.spec()), 7, 2)
            ->features);
    EXPECT_EQ(without.get(augment, own, 7, 2)->features, expected->features) << "no room for the pool";
  }
}

TEST_F(FoldedData, RespectGroupsTimesAndTestFile) {
  std::ostringstream text, test;
  text << "a,person,day,y\n";
  test << "a,person,day,y\n";
  Rng rng(3);
  for (int row = 0; row < 60; ++row) {
    text << row << "," << row / 4 << ",2024-01-" << (row < 27 ? "0" : "") << row / 3 + 1 << ","
         << (row % 2 != 0 ? "p" : "q") << "\n";
  }
  for (int row = 0; row < 9; ++row) test << row << ",99,2025-01-01," << (row % 2 != 0 ? "p" : "q") << "\n";
  write("t.csv", text.str());
  write("test.csv", test.str());
  const auto groups = dealt("csv:t.csv?group=person&test=test.csv", 5);
  ASSERT_TRUE(groups.ok()) << groups.error().text();
  for (std::int64_t fold = 0; fold < 5; ++fold) {
    const Dataset& training = groups->training(fold);
    EXPECT_EQ(training.spec().split_rows[2], 9);
    std::set<std::int64_t> train;
    for (const std::int64_t row : training.rows(Part::kTrain)) train.insert(row / 4);
    for (const std::int64_t row : training.rows(Part::kValidation)) EXPECT_FALSE(train.contains(row / 4));
  }
  const auto times = dealt("csv:t.csv?order=day", 4);
  ASSERT_TRUE(times.ok()) << times.error().text();
  std::int64_t before = 0;
  for (std::int64_t fold = 0; fold < 4; ++fold) {
    const Dataset& training = times->training(fold);
    EXPECT_LT(training.rows(Part::kTrain).back() / 3, training.rows(Part::kValidation).front() / 3);
    EXPECT_GT(training.spec().split_rows[0], before) << "a window that grows";
    before = training.spec().split_rows[0];
    EXPECT_LT(training.rows(Part::kValidation).back() / 3, training.rows(Part::kTest).front() / 3);
  }
}

TEST_F(FoldedData, ReportKeyOfInvalidFolds) {
  expect_folds_error(dealt("builtin:digits", 1), "is 1; it must be at least 2");
  expect_folds_error(dealt("builtin:digits", 500, 3),
                     "500 folds, dealt 3 times, are more than the 1000 trainings that a proposal may have");
  write("t.csv", "a,y\n1,p\n2,q\n3,p\n4,q\n5,p\n6,q\n7,p\n8,q\n9,p\n0,q\n");
  expect_folds_error(dealt("csv:t.csv", 6),
                     "is 6, allowed are 2 to 4: class \"p\" has 4 rows outside the test part, and each fold needs one; "
                     "choose fewer folds, add rows of it or leave its rows out");
}

}  // namespace
}  // namespace lanista::data
