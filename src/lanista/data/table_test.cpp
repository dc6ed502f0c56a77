#include "lanista/data/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "lanista/base/rng.h"
#include "lanista/data/dataset.h"

namespace lanista::data {
namespace {

TEST(CellNumber, KnowsNumbersFromTextAndFromMissingValues) {
  EXPECT_EQ(cell_number(" 1.5 "), 1.5);
  EXPECT_EQ(cell_number("+2e3"), 2000);
  for (const char* cell : {"", "  ", "x", "1x", "NaN", "inf", "+-1", "1e999", "?"}) {
    EXPECT_FALSE(cell_number(cell).has_value()) << cell;
  }
  for (const char* cell : {"", " ", "?", "NA", "nan", " null "}) EXPECT_TRUE(cell_text(cell).empty()) << cell;
}

/// A table on disk that is opened as a data set.
class Csv : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = (std::filesystem::temp_directory_path() / ("lanista-csv-" + std::to_string(::getpid()))).string();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<Dataset> get(const std::string& text, const std::string& options = "", const std::string& normalize = "auto") {
    std::ofstream(folder_ + "/t.csv", std::ios::binary) << text;
    study::DataConfig config;
    config.source = "csv:t.csv" + options;
    config.split = {0.5, 0.25, 0.25};
    config.normalize = normalize;
    return open(config, folder_, real_file_system());
  }
  void expect_error(const std::string& text, const std::string& options, Code code, const std::string& message) {
    const auto result = get(text, options);
    ASSERT_FALSE(result.ok()) << options;
    EXPECT_EQ(result.error().code, code) << result.error().text();
    EXPECT_NE(result.error().message.find(message), std::string::npos) << result.error().text();
  }
  static std::vector<float> row(const Dataset& set, std::int64_t row) {
    std::vector<float> out(static_cast<std::size_t>(set.spec().features.elements_per_sample()));
    set.gather_features(std::vector<std::int64_t>{row}, out);
    return out;
  }

  std::string folder_;
};

TEST_F(Csv, CountsDifferentAndMissingCellsAsTheyAreWritten) {
  const std::vector<std::string> cells{"1", "1.0", "+1", " 2", "2", "", "?", "NA", "3e0", "nan", "-4", "null"};
  Rng rng(5);
  std::string text = "x,y\n";
  std::set<std::string> different;
  std::int64_t missing = 0;
  for (int row = 0; row < 200; ++row) {
    std::string cell = cells[rng.below(cells.size())];
    text += cell + (row % 2 == 0 ? ",a\n" : ",b\n");
    if (cell.front() == ' ') cell = cell.substr(1);
    const bool none = cell.empty() || cell == "?" || cell == "NA" || cell == "nan" || cell == "null";
    missing += none ? 1 : 0;
    if (!none) different.insert(cell);
  }
  const auto set = get(text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  const auto columns = parse_columns(set->spec().schema.at("columns"));
  ASSERT_TRUE(columns.ok());
  EXPECT_EQ(columns->at(0).kind, ColumnKind::kNumber);
  EXPECT_EQ(columns->at(0).unique, static_cast<std::int64_t>(different.size()));
  EXPECT_EQ(columns->at(0).missing, missing);
  EXPECT_EQ(columns->at(0).min, -4);
  EXPECT_EQ(columns->at(0).max, 3);
}

constexpr const char* kFlowers =
    "length,colour,id,species\n"
    "1,red,a,x\n"
    "2,blue,b,x\n"
    "3,red,c,y\n"
    "?,blue,d,y\n"
    "5,red,e,x\n"
    "6,,f,x\n"
    "7,red,g,y\n"
    "8,blue,h,y\n";

TEST_F(Csv, BecomesADataSetOfClasses) {
  const auto set = get(kFlowers, "?target=species&drop=id", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.name, "t");
  EXPECT_EQ(spec.labels, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(spec.features.dims, std::vector<std::int64_t>{3});  // length, blue, red
  EXPECT_EQ(spec.split_rows, (std::array<std::int64_t, 3>{4, 2, 2}));
  EXPECT_EQ(row(*set, 0), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(row(*set, 7), (std::vector<float>{8, 1, 0}));
  EXPECT_EQ(row(*set, 5), (std::vector<float>{6, 0, 0})) << "a missing category is all zeros";
  std::vector<std::int32_t> labels(8);
  set->gather_labels(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7}, labels);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{0, 0, 1, 1, 0, 0, 1, 1}));
  const auto& columns = spec.schema["columns"];
  ASSERT_EQ(columns.size(), 2U);
  EXPECT_EQ(columns[0]["name"], "length");
  EXPECT_EQ(columns[0]["missing"], 1);
  EXPECT_EQ(columns[1]["categories"], (nlohmann::json{"blue", "red"}));
  EXPECT_EQ(spec.schema["target"]["name"], "species");
}

TEST_F(Csv, StandardisesByTheTrainingPartAndFillsInItsMean) {
  const auto set = get(kFlowers, "?drop=id");

  ASSERT_TRUE(set.ok());
  const DataSpec& spec = set->spec();
  double sum = 0, squares = 0, present = 0;
  for (const std::int64_t r : set->rows(Part::kTrain)) {
    if (r == 3) continue;
    const double v = static_cast<double>(row(*set, r)[0]);
    sum += v;
    squares += v * v;
    ++present;
  }
  EXPECT_NEAR(sum / present, 0, 1e-6);
  EXPECT_NEAR(squares / present, 1, 1e-6);
  EXPECT_NEAR(row(*set, 3)[0], 0, 1e-6) << "the mean, normalised";
  ASSERT_EQ(spec.normalization.mean.size(), 3U);
  EXPECT_EQ(spec.normalization.mean[1], 0);
  EXPECT_EQ(spec.normalization.scale[1], 1);
}

TEST_F(Csv, TellsClassesFromNumbers) {
  std::string integers = "a,b,y\n", reals = "a,b,y\n";
  for (int i = 0; i < 40; ++i) {
    integers += std::to_string(i) + ",1," + std::to_string(8 + i % 4) + "\n";
    reals += std::to_string(i) + ",1," + std::to_string(i) + ".5\n";
  }

  const auto classes = get(integers);
  const auto numbers = get(reals);
  const auto forced = get(integers, "?task=numbers");
  const auto first = get(reals, "?target=0");

  ASSERT_TRUE(classes.ok() && numbers.ok() && forced.ok() && first.ok());
  EXPECT_EQ(classes->spec().labels, (std::vector<std::string>{"8", "9", "10", "11"}));
  EXPECT_EQ(numbers->spec().classes, 0);
  EXPECT_EQ(forced->spec().classes, 0);
  EXPECT_EQ(first->spec().schema["target"]["name"], "a");
  std::vector<float> targets(2);
  numbers->gather_raw_targets(std::vector<std::int64_t>{3, 39}, targets);
  EXPECT_EQ(targets, (std::vector<float>{3.5, 39.5}));
  EXPECT_EQ(numbers->spec().normalization.scale[1], 1) << "a constant column is not blown up";
}

TEST_F(Csv, ExplainsWhatIsWrong) {
  expect_error(kFlowers, "?target=specie", Code::kInvalidArgument, "did you mean \"species\"?");
  expect_error(kFlowers, "?target=9", Code::kInvalidArgument, "there are 4 columns");
  expect_error(kFlowers, "?drop=length,colour,id", Code::kInvalidArgument, "no column is left");
  expect_error(kFlowers, "?drop=species", Code::kInvalidArgument, "cannot be dropped");
  expect_error(kFlowers, "?task=number", Code::kInvalidArgument, "allowed are auto, classes, numbers");
  expect_error(kFlowers, "?task=numbers", Code::kDataLoss, "row 1 holds \"x\", which is no number");
  expect_error("a,a,b\n1,2,3\n", "?target=a", Code::kInvalidArgument, "2 columns called \"a\"");
  expect_error("a,a,b\n1,2,3\n", "", Code::kInvalidArgument, "two columns are called \"a\"; leave one out with drop=");
  expect_error("b,a,b\n1,2,3\n", "", Code::kInvalidArgument, "two columns are called \"b\"");
  expect_error("a,y\n1,x\n2,\n", "", Code::kDataLoss, "the target of row 2 is missing");
  expect_error("a,y\n1,x\n2,x\n", "", Code::kDataLoss, "at least two classes");
  expect_error("a,y\n1,x\n2\n", "", Code::kDataLoss, "line 3");
  expect_error("a,y\n1,x\n2,z\n", "", Code::kInvalidArgument, "would have none");
  std::string many = "name,y\n";
  for (int i = 0; i < 600; ++i) many += "n" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  expect_error(many, "", Code::kDataLoss, "more than 256 different texts");
}

TEST_F(Csv, TakesDeclaredKindsAndSeparators) {
  std::string text = "zip|size|y\n";
  for (int i = 0; i < 24; ++i)
    text += std::to_string(100 + i % 3) + "|" + std::to_string(i) + "|k" + std::to_string(i % 2) + "\n";

  const auto inferred = get(text, "?sep=|"), declared = get(text, "?sep=|&categorical=zip&numeric=size");

  ASSERT_TRUE(inferred.ok() && declared.ok());
  EXPECT_EQ(inferred->spec().features.dims, std::vector<std::int64_t>{2});
  EXPECT_EQ(declared->spec().features.dims, std::vector<std::int64_t>{4});
  EXPECT_EQ(declared->spec().schema["columns"][0]["categories"], (std::vector<std::string>{"100", "101", "102"}));
  expect_error(text, "?sep=|&categorical=zip,size&numeric=zip", Code::kInvalidArgument, "\"zip\" is declared twice");
  expect_error(text, "?sep=|&numeric=y", Code::kInvalidArgument, "has a declared kind, yet is no feature");
  expect_error(text, "?sep=||", Code::kInvalidArgument, "allowed is one character, or tab");
  expect_error(kFlowers, "?numeric=colour", Code::kDataLoss, "row 1 holds \"red\", which is no number");
}

TEST_F(Csv, TakesADeclaredSchemaAndItsOwn) {
  const auto declare = [&](const std::string& json) { std::ofstream(folder_ + "/s.json", std::ios::binary) << json; };
  declare(R"({"columns": [{"name": "colour", "kind": "category", "categories": ["red", "green", "blue"]},
                          {"name": "length", "kind": "number"}], "target": {"name": "species"}})");

  const auto set = get(kFlowers, "?schema=s.json", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(row(*set, 0), (std::vector<float>{0, 0, 1, 1})) << "columns as declared, categories sorted";
  declare(set->spec().schema.dump());
  const auto again = get(kFlowers, "?schema=s.json", "none");
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->spec().hash, set->spec().hash);

  expect_error(kFlowers, "?schema=s.json&drop=id", Code::kInvalidArgument, "leave out drop");
  const auto refused = [&](const std::string& json, const std::string& message) {
    declare(json);
    expect_error(kFlowers, "?schema=s.json", Code::kInvalidArgument, message);
  };
  refused("{", "this is no JSON");
  refused("{}", "expected {\"columns\"");
  refused(R"({"columns": [], "target": {"name": "species"}})", "\"columns\" is empty");
  refused(R"({"columns": [{"name": "lenght", "kind": "number"}], "target": {"name": "species"}})",
          "did you mean \"length\"?");
  refused(R"({"columns": [{"name": "length", "kind": "real"}], "target": {"name": "species"}})",
          "\"kind\" is \"real\", allowed are number and category");
  refused(R"({"columns": [{"name": "id", "kind": "category"}, {"name": "id", "kind": "category"}],
              "target": {"name": "species"}})",
          "\"id\" stands twice");
}

}  // namespace
}  // namespace lanista::data
