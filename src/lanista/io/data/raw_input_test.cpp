#include "lanista/io/data/raw_input.h"

#include "lanista/base/rng.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class RawInput : public InMemoryDataTest {
 protected:
  /// Numbers of all sizes, two categories, missing cells, a target of three classes.
  std::string flowers(int rows) {
    Rng rng(8);
    std::string text = "length,colour,wide,species\n";
    for (int i = 0; i < rows; ++i) {
      const auto number = [&] { return i % 7 == 3 ? std::string("?") : std::to_string(rng.normal() * 1e3); };
      text += number() + "," +
              (i % 5 == 2   ? ""
               : i % 2 == 0 ? "red"
                            : "blue") +
              "," + number() + ",kind" + std::to_string(i % 3) + "\n";
    }
    return text;
  }
};

TEST_F(RawInput, TableRoundTripsItsRows) {
  write("t.csv", flowers(80));
  write("t.csv.gz", gzip(flowers(80)));
  for (const char* normalize : {"auto", "none"}) {
    const auto set = get("csv:t.csv", normalize);
    ASSERT_TRUE(set.ok()) << set.error().text();

    expect_same_rows(*set, "t.csv");
    expect_same_rows(*set, "t.csv.gz");
    expect_same_rows(*set, set->spec().source);
    const auto stored = parse_spec(nlohmann::json::parse(spec_json(set->spec()).dump()));
    ASSERT_TRUE(stored.ok()) << stored.error().text();
    const auto first = read_raw(set->spec(), "t.csv", disk_), second = read_raw(*stored, "t.csv", disk_);
    ASSERT_TRUE(first.ok() && second.ok());
    EXPECT_EQ(first->features, second->features) << "a specification survives being stored";
    EXPECT_GT(first->missing, 0);
    EXPECT_EQ(first->unknown, 0);
  }
}

TEST_F(RawInput, TableIsReadByNameAndStoredRules) {
  write("t.csv", "a,b,y\n1,red,n\n2,blue,p\n3,red,n\n4,blue,p\n5,red,n\n6,blue,p\n7,red,n\n8,blue,p\n");
  const auto set = get("csv:t.csv", "none");
  ASSERT_TRUE(set.ok()) << set.error().text();
  write("new.csv", "extra,b,a\nx,green,4\ny,blue,\nz,,7\n");

  const auto raw = read_raw(set->spec(), "new.csv", disk_);

  ASSERT_TRUE(raw.ok()) << raw.error().text();
  const auto mean = static_cast<float>(set->spec().schema["columns"][0]["mean"].get<double>());
  EXPECT_EQ(raw->features, (std::vector<float>{4, 0, 0, mean, 1, 0, 7, 0, 0}));
  EXPECT_EQ(raw->unknown, 1);
  EXPECT_EQ(raw->missing, 2);
  EXPECT_TRUE(raw->labels.empty());

  write("none.csv", "b,y\nred,\nblue,\n");
  expect_raw_error(set->spec(), "none.csv", Code::kDataLoss, "none.csv: csv: the file lacks the feature columns \"a\"");
  write("text.csv", "a,b\nmany,red\n");
  expect_raw_error(set->spec(), "text.csv", Code::kDataLoss, "row 1 holds \"many\", which is not a number");
  write("class.csv", "a,b,y\n1,red,n\n1,red,q\n");
  expect_raw_error(set->spec(), "class.csv", Code::kDataLoss, "row 2 holds \"q\", which is none of the 2 classes");
  write("some.csv", "a,b,y\n1,red,n\n1,red,\n");
  const auto some = read_raw(set->spec(), "some.csv", disk_);
  ASSERT_TRUE(some.ok()) << some.error().text();
  EXPECT_EQ(some->labels, (std::vector<std::int32_t>{0, kNoLabel})) << "there is something to measure in the first row";
  write("empty.csv", "a,b,y\n1,red,\n");
  EXPECT_TRUE(read_raw(set->spec(), "empty.csv", disk_)->labels.empty());
  write("x.npy", formats::encode_npy(tensor_of<float>(ElementType::kF32, {1, 3}, {1, 2, 3})));
  expect_raw_error(set->spec(), "x.npy", Code::kInvalidArgument, "\"t\" is a table; new rows come as csv");
}

TEST_F(RawInput, TableWithoutHeaderIsReadByPosition) {
  std::string text;
  for (int i = 0; i < 20; ++i)
    text += std::to_string(i % 2) + "," + std::to_string(i) + "," + std::to_string(-i) + "\n";
  write("t.csv", text);
  const auto set = get("csv:t.csv?target=0");
  ASSERT_TRUE(set.ok());
  expect_same_rows(*set, "t.csv");
  write("new.csv", "3,-3\n");

  const auto raw = read_raw(set->spec(), "new.csv", disk_);

  ASSERT_TRUE(raw.ok()) << raw.error().text();
  const std::vector<float> all = features_of(*set);
  EXPECT_EQ(raw->features, std::vector<float>(all.begin() + 6, all.begin() + 8));
}

TEST_F(RawInput, DigitsAreReadFromArraysAndTables) {
  const auto set = get("builtin:digits", "auto", {0.7, 0.15, 0.15});
  ASSERT_TRUE(set.ok());
  const auto plain = get("builtin:digits", "none", {0.7, 0.15, 0.15});
  const std::vector<float> pixels = features_of(*plain);
  std::string csv;
  for (std::size_t row = 0; row < 1797; ++row) {
    for (std::size_t f = 0; f < 64; ++f) csv += std::to_string(static_cast<int>(pixels[row * 64 + f])) + ",";
    csv += std::to_string(labels_of(*set)[row]) + "\n";
  }
  write("d.csv.gz", gzip(csv));
  write("x.npy", formats::encode_npy(tensor_of(ElementType::kF32, {1797, 8, 8}, pixels)));
  write("flat.npy", formats::encode_npy(tensor_of(ElementType::kF32, {1797, 64}, pixels)));
  write("y.npy", formats::encode_npy(tensor_of(ElementType::kI32, {1797}, labels_of(*set))));
  write("one.npy",
        formats::encode_npy(tensor_of<float>(ElementType::kF32, {8, 8}, {pixels.begin(), pixels.begin() + 64})));

  expect_same_rows(*set, "builtin:digits");
  expect_same_rows(*set, "d.csv.gz");
  expect_same_rows(*set, "x.npy,y.npy");
  expect_same_rows(*set, "flat.npy", false);
  const auto one = read_raw(set->spec(), "one.npy", disk_);
  ASSERT_TRUE(one.ok()) << one.error().text();
  EXPECT_EQ(one->rows(), 1);
}

TEST_F(RawInput, ArraysMustHaveTheShapeOfTheSamples) {
  const auto set = get("builtin:digits", "auto", {0.7, 0.15, 0.15});
  ASSERT_TRUE(set.ok());
  const auto save = [&](const std::string& name, std::vector<std::int64_t> shape) {
    std::int64_t n = 1;
    for (const std::int64_t d : shape) n *= d;
    write(name, formats::encode_npy(tensor_of(ElementType::kF32, std::move(shape),
                                              std::vector<float>(static_cast<std::size_t>(n), 1))));
  };
  save("turned.npy", {3, 4, 16});
  save("short.npy", {3, 63});
  save("none.npy", {0, 64});
  save("three.npy", {3, 64});
  write("y.npy", formats::encode_npy(tensor_of(ElementType::kF32, {3}, std::vector<float>{10, 1, 1})));

  expect_raw_error(set->spec(), "turned.npy", Code::kDataLoss,
                   "turned.npy: data: an array [3, 4, 16] holds no samples [1, 8, 8]");
  expect_raw_error(set->spec(), "short.npy", Code::kDataLoss, "[3, 63] holds no samples [1, 8, 8]");
  expect_raw_error(set->spec(), "none.npy", Code::kDataLoss, "there are no rows");
  expect_raw_error(set->spec(), "three.npy,y.npy", Code::kDataLoss,
                   "label of row 0 is 10, which is none of the 10 classes");
  expect_raw_error(set->spec(), "digit.png", Code::kInvalidArgument, "need not be pixels from 0 to 255");
  expect_raw_error(set->spec(), "digit", Code::kInvalidArgument, "the name does not show the format");
  expect_raw_error(set->spec(), "synthetic:spirals", Code::kInvalidArgument, "its samples [2] do not fit \"digits\"");
  expect_raw_error(set->spec(), "csv:digit?seperator=x", Code::kInvalidArgument, "unknown option \"seperator\"");
  write("wide.csv", "1,2,3\n");
  expect_raw_error(set->spec(), "wide.csv", Code::kDataLoss, "3 columns; samples [1, 8, 8] need 64, or one more");
}

TEST_F(RawInput, NumbersAreReadBackWithTheirTargets) {
  const auto set = get("synthetic:regression?rows=40");
  ASSERT_TRUE(set.ok());
  expect_same_rows(*set, "synthetic:regression?rows=40");

  std::string csv = "a,y\n";
  for (int i = 0; i < 40; ++i) csv += std::to_string(i) + "," + std::to_string(i) + ".25\n";
  write("t.csv", csv);
  const auto table = get("csv:t.csv");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(targets_of(*table)[39], 39.25F) << "targets stay as they are";
  expect_same_rows(*table, "t.csv");
  const std::vector<double> x = {3, 4};
  write("x.npy", formats::encode_npy(tensor_of(ElementType::kF64, {2, 8}, std::vector<double>(16, 1))));
  write("y.npy", formats::encode_npy(tensor_of(ElementType::kF64, {2}, x)));
  const auto raw = read_raw(set->spec(), "x.npy,y.npy", disk_);
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->targets, (std::vector<float>{3, 4}));
}

TEST_F(RawInput, ReportsNonFiniteNumbers) {
  const auto set = get("synthetic:regression?rows=40&features=2");
  ASSERT_TRUE(set.ok());
  const std::vector<float> x = {1, 2, 3, std::numeric_limits<float>::infinity()};
  write("x.npy", formats::encode_npy(tensor_of(ElementType::kF32, {2, 2}, x)));
  expect_raw_error(set->spec(), "x.npy", Code::kDataLoss, "x.npy: data: feature 1 of row 1 is not a finite number");
}

}  // namespace
}  // namespace lanista::data
