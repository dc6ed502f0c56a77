#include "lanista/io/data/dataset.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "lanista/base/rng.h"
#include "lanista/io/data/split.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class Data : public DataInFolderTest {
 protected:
  Result<Dataset> get(const std::string& source, const std::array<double, 3>& split = {0.7, 0.15, 0.15},
                      const std::string& normalize = "auto") {
    return opened(source, split, normalize);
  }
  void expect_error(const std::string& source, Code code, const std::string& message) {
    SCOPED_TRACE(source);
    expect_failed(get(source), code, message);
  }
  static std::vector<std::int32_t> labels(const Dataset& set) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(set.spec().rows));
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
    std::vector<std::int32_t> out(rows.size());
    set.gather_labels(rows, out);
    return out;
  }
};

TEST_F(Data, ContainsDigits) {
  const auto set = get("builtin:digits");

  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.rows, 1797);
  EXPECT_EQ(spec.classes, 10);
  EXPECT_EQ(spec.licence, "CC BY 4.0");
  EXPECT_EQ(spec.features.dims, (std::vector<std::int64_t>{1, 8, 8}));
  EXPECT_EQ(spec.split_rows, (std::array<std::int64_t, 3>{1257, 270, 270}));
  std::array<std::int64_t, 10> counts{};
  for (const std::int32_t label : labels(*set)) ++counts[static_cast<std::size_t>(label)];
  EXPECT_EQ(counts, (std::array<std::int64_t, 10>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180}));
  EXPECT_EQ(spec.hash.hex(), "fb7ed6cc095478506d9efde4cb79e992") << "every study on the digits depends on these bits";
}

TEST_F(Data, FirstDigitEqualsPublishedPixels) {
  const auto set = get("builtin:digits", {0.7, 0.15, 0.15}, "none");
  ASSERT_TRUE(set.ok());
  const auto first = row_features(*set, 0);
  EXPECT_EQ(std::vector<float>(first.begin(), first.begin() + 16),
            (std::vector<float>{0, 0, 5, 13, 9, 1, 0, 0, 0, 0, 13, 15, 10, 15, 5, 0}));
  EXPECT_EQ(labels(*set)[1796], 8);
  float largest = 0;
  for (std::int64_t row = 0; row < 1797; ++row) {
    for (const float v : row_features(*set, row)) largest = std::max(largest, v);
  }
  EXPECT_EQ(largest, 16);
  EXPECT_EQ(set->spec().normalization, Normalization{});
}

TEST_F(Data, SplitsEveryClassInTheSameProportions) {
  const auto set = get("builtin:digits");
  ASSERT_TRUE(set.ok());
  const auto all = labels(*set);
  std::set<std::int64_t> seen;
  for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
    EXPECT_TRUE(std::is_sorted(set->rows(part).begin(), set->rows(part).end()));
    std::array<double, 10> counts{};
    for (const std::int64_t row : set->rows(part)) {
      EXPECT_TRUE(seen.insert(row).second);
      ++counts[static_cast<std::size_t>(all[static_cast<std::size_t>(row)])];
    }
    for (std::size_t c = 0; c < 10; ++c) {
      const auto in_class = static_cast<double>(std::count(all.begin(), all.end(), static_cast<std::int32_t>(c)));
      EXPECT_NEAR(counts[c], in_class * (part == Part::kTrain ? 0.7 : 0.15), 1.5);
    }
  }
  EXPECT_EQ(seen.size(), 1797U);
}

TEST_F(Data, NormalisesByTheTrainingPart) {
  const auto set = get("builtin:digits");
  ASSERT_TRUE(set.ok());
  double sum = 0, squares = 0;
  for (const std::int64_t row : set->rows(Part::kTrain)) {
    for (const float v : row_features(*set, row)) {
      sum += static_cast<double>(v);
      squares += static_cast<double>(v) * static_cast<double>(v);
    }
  }
  const double n = 1257.0 * 64;
  EXPECT_NEAR(sum / n, 0, 1e-6);
  EXPECT_NEAR(squares / n, 1, 1e-6);
}

TEST(Split, HasExactSumsForAnyClassSizes) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const auto classes = static_cast<std::int64_t>(1 + rng.below(6));
    std::vector<std::int32_t> labels;
    for (std::uint64_t n = 20 + rng.below(60); n-- > 0;) {
      labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes))));
    }
    const auto rows = static_cast<std::int64_t>(labels.size());
    const auto split = split_rows(rows, labels, classes, {0.6, 0.2, 0.2});
    ASSERT_TRUE(split.ok());
    const auto part = static_cast<std::size_t>(static_cast<double>(rows) * 0.2 + 0.5);
    EXPECT_EQ((*split)[1].size(), part);
    EXPECT_EQ((*split)[2].size(), part);
    EXPECT_EQ((*split)[0].size(), labels.size() - 2 * part);
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto of = [&](const std::vector<std::int64_t>& r) {
        return std::count_if(r.begin(), r.end(), [&](auto i) { return labels[static_cast<std::size_t>(i)] == c; });
      };
      const double in_class = static_cast<double>(std::count(labels.begin(), labels.end(), c));
      EXPECT_NEAR(static_cast<double>(of((*split)[1])), in_class * 0.2, 2);
    }
  }
}

TEST(Split, RefusesInvalidFractions) {
  for (const std::array<double, 3> f : {std::array<double, 3>{0.5, 0.5, 0.5},
                                        {1.2, -0.1, -0.1},
                                        {1, 0, 0},
                                        {0, 0.5, 0.5},
                                        {NAN, 0.5, 0.5},
                                        {0.98, 0.01, 0.01}}) {
    const auto split = split_rows(20, {}, 0, f);
    ASSERT_FALSE(split.ok());
    EXPECT_EQ(split.error().code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(split_rows(20, {}, 0, {0.8, 0.2, 0}).ok());
}

TEST(Split, KeepsAnOfficialTestPartAndSharesTheRest) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 50; ++i) labels.push_back(i % 2);
  const std::vector<std::int64_t> test = {3, 7, 40, 41, 42, 43, 44, 45, 46, 47};

  const auto split = split_rows(50, labels, 2, {0.6, 0.2, 0.2}, test);

  ASSERT_TRUE(split.ok());
  EXPECT_EQ((*split)[2], test);
  EXPECT_EQ((*split)[1].size(), 10U) << "a quarter of the other 40";
  std::set<std::int64_t> seen;
  for (const auto& part : *split) seen.insert(part.begin(), part.end());
  EXPECT_EQ(seen.size(), 50U);
  EXPECT_EQ((*split)[1], (*split_rows(50, labels, 2, {0.75, 0.25, 0}, test))[1]);
  EXPECT_FALSE(split_rows(50, labels, 2, {0, 0, 1}, test).ok());
  EXPECT_FALSE(split_rows(50, labels, 2, {0.9, 0.2, 0.1}, test).ok());
}

TEST(EpochOrder, IsAPermutationKeyedBySeedAndEpoch) {
  const std::vector<std::int64_t> rows = {2, 3, 5, 7, 11, 13, 17, 19};

  const auto first = epoch_order(rows, 1, 0);

  EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), rows.begin(), rows.end()));
  EXPECT_EQ(first, epoch_order(rows, 1, 0));
  EXPECT_NE(first, epoch_order(rows, 1, 1));
  EXPECT_NE(first, epoch_order(rows, 2, 0));
  EXPECT_EQ(first, (std::vector<std::int64_t>{3, 17, 13, 5, 11, 7, 19, 2}));
}

TEST_F(Data, ReadsNumpyFiles) {
  Tensor x{.name = "", .type = ElementType::kU8, .shape = {10, 1, 2, 2}, .bytes = {}};
  for (int i = 0; i < 40; ++i) x.bytes.push_back(static_cast<std::byte>(i));
  Tensor y{.name = "", .type = ElementType::kI64, .shape = {10}, .bytes = std::vector<std::byte>(80)};
  for (std::size_t i = 0; i < 10; ++i) y.bytes[i * 8] = static_cast<std::byte>(i % 3);
  write("x.npy", formats::encode_npy(x));
  write("y.npy", formats::encode_npy(y));

  const auto set = get("npy:x.npy,y.npy", {0.6, 0.2, 0.2}, "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().name, "x");
  EXPECT_EQ(set->spec().classes, 3);
  EXPECT_EQ(set->spec().features.dims, (std::vector<std::int64_t>{1, 2, 2}));
  EXPECT_EQ(row_features(*set, 3), (std::vector<float>{12, 13, 14, 15}));
  EXPECT_EQ(labels(*set), (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2, 0}));
  const auto numbers = get("npy:x.npy,y.npy?task=numbers", {0.6, 0.2, 0.2});
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(numbers->spec().classes, 0);
  EXPECT_NE(numbers->spec().hash, set->spec().hash);

  y.bytes[8 * 4 + 7] = std::byte{0x80};
  write("y.npy", formats::encode_npy(y));
  study::DataConfig config;
  config.source = "npy:x.npy,y.npy";
  config.rules = study::kFirstRules;
  expect_failed(open(config, folder_, real_file_system()), Code::kDataLoss, "label of row 4 is -");
  const auto by_value = get("npy:x.npy,y.npy", {0.6, 0.2, 0.2});
  ASSERT_TRUE(by_value.ok()) << by_value.error().text();
  EXPECT_EQ(by_value->spec().labels, (std::vector<std::string>{"-9223372036854775807", "0", "1", "2"}));
  y.shape = {5, 2};
  write("y.npy", formats::encode_npy(y));
  expect_error("npy:x.npy,y.npy", Code::kDataLoss, "as there are 10 rows");
  write("y.npy", "garbage");
  expect_error("npy:x.npy,y.npy", Code::kDataLoss, "does not begin with");
  const float nan = NAN;
  x = {.name = "", .type = ElementType::kF32, .shape = {1, 1}, .bytes = std::vector<std::byte>(4)};
  std::memcpy(x.bytes.data(), &nan, 4);
  write("x.npy", formats::encode_npy(x));
  write("y.npy", formats::encode_npy(x));
  expect_error("npy:x.npy,y.npy", Code::kDataLoss, "feature 0 of row 0 is not a finite number");
}

TEST_F(Data, SyntheticSetsHaveGoldenBits) {
  const auto hash = [&](const std::string& source) {
    const auto set = get(source);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set->spec().hash.hex();
  };
  EXPECT_EQ(hash("synthetic:spirals?rows=300&classes=3"), "5dcfdd7ea45b3c9950b4fedd6bc24790");
  EXPECT_EQ(hash("synthetic:blobs?rows=200&classes=4&features=5&seed=9"), "6efb06829b9e9170ec9bc3dc4336c04b");
  EXPECT_EQ(hash("synthetic:regression?rows=100"), "7addd3b739012c3d5cf92747e354f7cc");
  EXPECT_NE(hash("synthetic:regression?rows=100&seed=2"), hash("synthetic:regression?rows=100"));
  EXPECT_EQ(get("synthetic:regression?rows=100")->spec().features.dims, std::vector<std::int64_t>{8});
}

TEST_F(Data, ReportsInvalidSource) {
  expect_error("digits", Code::kInvalidArgument, "expected kind:argument, such as builtin:digits");
  expect_error("a/flats.csv.gz", Code::kInvalidArgument, "such as csv:a/flats.csv.gz?target=COLUMN");
  expect_error("x.npy", Code::kInvalidArgument, "such as npy:x.npy,LABELS.npy");
  expect_error("cvs:x.csv", Code::kInvalidArgument, "did you mean \"csv\"?");
  expect_error("builtin:mnist", Code::kInvalidArgument, "builtin:digits");
  expect_error("builtin:digits?x=1", Code::kInvalidArgument, "unknown option \"x\"");
  expect_error("synthetic:spirals?row=9", Code::kInvalidArgument, "did you mean \"rows\"?");
  expect_error("synthetic:spirals?rows=1e3", Code::kInvalidArgument, "allowed is a whole number from 1");
  expect_error("synthetic:spirals?rows=9&rows=9", Code::kInvalidArgument, "stands twice");
  expect_error("synthetic:spirals?rows", Code::kInvalidArgument, "option=value");
  expect_error("synthetic:circles", Code::kInvalidArgument, "spirals, blobs, regression");
  expect_error("npy:x.npy", Code::kInvalidArgument, "two files");
  expect_error("npy:x.npy,y.npy", Code::kNotFound, "");
  expect_error("csv:none.csv", Code::kNotFound, "");
}

}  // namespace
}  // namespace lanista::data
