#include "lanista/io/data/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "lanista/base/rng.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/raw_input.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

/// A table in a file that is opened as a data set.
class Csv : public DataInFolderTest {
 protected:
  Result<Dataset> get(const std::string& text, const std::string& options = "", const std::string& normalize = "auto") {
    write("t.csv", text);
    return opened("csv:t.csv" + options, {0.5, 0.25, 0.25}, normalize);
  }
  void expect_error(const std::string& text, const std::string& options, Code code, const std::string& message) {
    SCOPED_TRACE(options);
    expect_failed(get(text, options), code, message);
  }
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
    if (cell.starts_with(' ')) cell = cell.substr(1);
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
  EXPECT_EQ(columns->at(0).stats.min, -4);
  EXPECT_EQ(columns->at(0).stats.max, 3);
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

TEST_F(Csv, OpensAsClassificationData) {
  const auto set = get(kFlowers, "?target=species&drop=id", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.name, "t");
  EXPECT_EQ(spec.labels, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(spec.features.dims, std::vector<std::int64_t>{3});  // length, blue, red
  EXPECT_EQ(spec.split_rows, (std::array<std::int64_t, 3>{4, 2, 2}));
  EXPECT_EQ(row_features(*set, 0), (std::vector<float>{1, 0, 1}));
  EXPECT_EQ(row_features(*set, 7), (std::vector<float>{8, 1, 0}));
  EXPECT_EQ(row_features(*set, 5), (std::vector<float>{6, 0, 0})) << "a missing category is all zeros";
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

TEST_F(Csv, UsesMeanAndScaleOfTrainingRows) {
  const auto set = get(kFlowers, "?drop=id");

  ASSERT_TRUE(set.ok());
  const DataSpec& spec = set->spec();
  double sum = 0, squares = 0, present = 0;
  for (const std::int64_t r : set->rows(Part::kTrain)) {
    if (r == 3) continue;
    const double v = static_cast<double>(row_features(*set, r)[0]);
    sum += v;
    squares += v * v;
    ++present;
  }
  EXPECT_NEAR(sum / present, 0, 1e-6);
  EXPECT_NEAR(squares / present, 1, 1e-6);
  EXPECT_NEAR(row_features(*set, 3)[0], 0, 1e-6) << "the mean, normalised";
  ASSERT_EQ(spec.normalization.mean.size(), 3U);
  EXPECT_EQ(spec.normalization.mean[1], 0);
  EXPECT_EQ(spec.normalization.scale[1], 1);
}

TEST_F(Csv, DistinguishesClassesFromNumbers) {
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

TEST_F(Csv, ReportsErrors) {
  expect_error(kFlowers, "?target=specie", Code::kInvalidArgument, "did you mean \"species\"?");
  expect_error(kFlowers, "?target=9", Code::kInvalidArgument, "there are 4 columns");
  expect_error(kFlowers, "?drop=length,colour,id", Code::kInvalidArgument, "no column is left");
  expect_error(kFlowers, "?drop=species", Code::kInvalidArgument, "cannot be dropped");
  expect_error(kFlowers, "?task=number", Code::kInvalidArgument, "allowed are auto, classes, numbers");
  expect_error(kFlowers, "?task=numbers", Code::kDataLoss, "row 1 holds \"x\", which is not a number");
  expect_error("a,a,b\n1,2,3\n", "?target=a", Code::kInvalidArgument, "2 columns called \"a\"");
  expect_error("a,a,b\n1,2,3\n", "", Code::kInvalidArgument, "two columns are called \"a\"; leave one out with drop=");
  expect_error("b,a,b\n1,2,3\n", "", Code::kInvalidArgument, "two columns are called \"b\"");
  expect_error("a,y\n1,\n2,?\n", "", Code::kDataLoss, "no row has a target");
  expect_error("a,y\n1,x\n2,x\n", "", Code::kDataLoss, "at least two classes");
  expect_error("a,y\n1,x\n2\n", "", Code::kDataLoss, "line 3");
  expect_error("a,y\n1,x\n2,z\n", "", Code::kInvalidArgument, "would have none");
  std::string many = "name,y\n";
  for (int i = 0; i < 600; ++i) many += "n" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  expect_error(many, "", Code::kDataLoss,
               "more than 256 different texts; leave it out with drop=, or keep the most frequent with categories=256");
  expect_error(many, "?categories=0", Code::kInvalidArgument, "categories=0");
  expect_error(many, "?categories=9999", Code::kInvalidArgument, "4096");
}

TEST_F(Csv, KeepsMostFrequentTrainingCategories) {
  // Category k of a thousand on about 1 in (k + 1) rows; in addition ids that no two rows share.
  std::string text = "zip,id,y\n";
  Rng rng = Rng(5).split("zip");
  for (int i = 0; i < 2000; ++i) {
    const auto zip = static_cast<int>(std::pow(1000.0, rng.uniform()));
    text += "z" + std::to_string(zip) + ",n" + std::to_string(i) + "," + std::to_string(i % 2) + "\n";
  }

  const auto set = get(text, "?categories=20");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().features.dims, std::vector<std::int64_t>{40});
  const auto all = get(text, "?categories=1000&drop=id");
  ASSERT_TRUE(all.ok()) << all.error().text();
  const auto names = feature_names(all->spec());
  std::map<std::string, std::int64_t> counts;  // counted from the ones of all rows
  std::vector<float> row(names.size());
  for (const std::int64_t r : all->rows(Part::kTrain)) {
    all->gather_features({&r, 1}, row);
    for (std::size_t f = 0; f < row.size(); ++f) counts[names[f]] += row[f] != 0 ? 1 : 0;
  }
  std::int64_t least = 2000, rest = 0, covered = 0;
  std::set<std::string> kept;
  for (const std::string& name : feature_names(set->spec())) {
    if (!name.starts_with("zip=")) continue;
    kept.insert(name);
    least = std::min(least, counts.at(name));
    covered += counts.at(name);
  }
  EXPECT_EQ(kept.size(), 20U);
  std::int64_t most_left_out = 0;
  for (const auto& [name, count] : counts) {
    if (kept.contains(name)) continue;
    most_left_out = std::max(most_left_out, count);
    rest += count;
  }
  EXPECT_GE(least, most_left_out);
  EXPECT_GT(most_left_out, 0);
  const std::string expected_warning = "column \"zip\": keeps the 20 most frequent of " +
                                       std::to_string(counts.size()) + " categories; the others, in " +
                                       std::to_string(rest) + " of " + std::to_string(covered + rest) +
                                       " rows, count as missing";
  EXPECT_EQ(std::ranges::count(set->data_warnings(), expected_warning), 1) << expected_warning;
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
  expect_error(text, "?sep=||", Code::kInvalidArgument, "allowed is one character, tab, or space");
  expect_error(kFlowers, "?numeric=colour", Code::kDataLoss, "row 1 holds \"red\", which is not a number");
}

TEST_F(Csv, AcceptsDeclaredAndStoredSchema) {
  const auto declare = [&](const std::string& json) { std::ofstream(folder_ + "/s.json", std::ios::binary) << json; };
  declare(R"({"columns": [{"name": "colour", "kind": "category", "categories": ["red", "green", "blue"]},
                          {"name": "length", "kind": "number"}], "target": {"name": "species"}})");

  const auto set = get(kFlowers, "?schema=s.json", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(row_features(*set, 0), (std::vector<float>{0, 0, 1, 1})) << "columns as declared, categories sorted";
  declare(set->spec().schema.dump());
  const auto repeated = get(kFlowers, "?schema=s.json", "none");
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_EQ(repeated->spec().hash, set->spec().hash);

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
          "\"kind\" is \"real\", allowed are number, category and date");
  refused(R"({"columns": [{"name": "id", "kind": "category"}, {"name": "id", "kind": "category"}],
              "target": {"name": "species"}})",
          "\"id\" stands twice");
}

/// Rows of two columns of numbers, one of dates and a target, some cells empty, in notations of programs and of users.
std::pair<std::string, std::string> random_tables(Rng rng) {
  const auto people = [](std::string number) {
    std::ranges::replace(number, '.', ',');
    const std::size_t whole = std::min(number.find(','), number.size());
    if (whole > 3 + (number[0] == '-' ? 1 : 0)) number.insert(whole - 3, ".");
    return number;
  };
  std::string plain = "a;b;day;y\n", written = plain;
  for (int row = 0; row < 60; ++row) {
    for (int column = 0; column < 2; ++column) {
      const bool none = rng.bernoulli(0.1);
      const std::string number = std::to_string(rng.between(-9999, 9999)) + "." + std::to_string(rng.between(10, 99));
      plain += (none ? "NA" : number) + ";";
      written += (none ? "k. A." : people(number)) + ";";
    }
    const std::string day = "2024-0" + std::to_string(rng.between(1, 9)) + "-1" + std::to_string(rng.between(0, 9));
    const std::string rest = (rng.bernoulli(0.1) ? "" : day) + (row % 2 == 0 ? ";u\n" : ";v\n");
    plain += rest;
    written += rest;
  }
  return {plain, written};
}

TEST_F(Csv, GivesSameDataForEachNumberNotation) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto [plain, written] = random_tables(Rng(seed));
    const auto one = get(plain, "?dates=day"), other = get(written, "?dates=day&decimal=,&missing=k. A.");
    ASSERT_TRUE(one.ok() && other.ok()) << (one.ok() ? other : one).error().text();
    EXPECT_EQ(one->spec().hash, other->spec().hash);
    EXPECT_EQ(one->spec().features.dims, std::vector<std::int64_t>{7});
    // New rows are read as the training rows were.
    const auto repeated = read_raw(other->spec(), folder_ + "/t.csv", real_file_system());
    ASSERT_TRUE(repeated.ok()) << repeated.error().text();
    std::vector<float> expected(60 * 7);
    std::vector<std::int64_t> rows(60);
    std::iota(rows.begin(), rows.end(), std::int64_t{0});
    other->gather_features(rows, expected);
    EXPECT_EQ(repeated->features, expected);
  }
}

TEST_F(Csv, ExpandsDatesIntoParts) {
  std::string text = "when,y\n2024-03-01 14:05,a\n,b\n2025-12-31,a\n2023-01-02 00:59,b\n";
  for (int i = 0; i < 8; ++i) text += i % 2 == 0 ? "2024-03-01 14:05,a\n" : "2024-03-01 14:05,b\n";
  const auto set = get(text, "?dates=when", "none");

  ASSERT_TRUE(set.ok()) << set.error().text();
  const auto parts = [&](std::int64_t row) {
    std::vector<float> out = row_features(*set, row);
    out.pop_back();
    return out;
  };
  EXPECT_EQ(parts(0), (std::vector<float>{2024, 3, 1, 5, 14, 5}));  // a Friday
  EXPECT_EQ(parts(2), (std::vector<float>{2025, 12, 31, 3, 0, 0}));
  EXPECT_EQ(parts(3), (std::vector<float>{2023, 1, 2, 1, 0, 59}));
  const auto columns = *parse_columns(set->spec().schema.at("columns"));
  ASSERT_EQ(columns[0].parts.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(row_features(*set, 1)[i], static_cast<float>(columns[0].parts[i].mean))
        << "a missing date is the mean of each part";
  }
  EXPECT_NE(schema_text(set->spec()).find("date      year 2023 to 2025, month 1 to 12"), std::string::npos)
      << schema_text(set->spec());
  EXPECT_EQ(columns_json(columns), set->spec().schema.at("columns"));
  // 669 days, and 9 hours and 55 minutes less than a day, are between the rows 0 and 2.
  const float elapsed = row_features(*set, 2)[6] - row_features(*set, 0)[6];
  EXPECT_NEAR(elapsed, 669 + (24 * 60 - 845) / 1440.0, 1e-3);
  EXPECT_EQ(feature_names(set->spec()).back(), "when.elapsed");
  expect_error("when,y\n2024-03-01,a\n3/1/2024,b\n,a\n,b\n,a\n,b\n,a\n,b\n", "?dates=when", Code::kDataLoss,
               "row 2 holds \"3/1/2024\", which is no date; expected 2024-03-01");
}

TEST_F(Csv, DropsRowsWithoutTargetAndWarns) {
  Rng rng(3);
  std::string all = "a,b,y\n", kept = all;
  int left_out = 0;
  for (int row = 0; row < 100; ++row) {
    const bool none = rng.bernoulli(0.2);
    const std::string line = std::to_string(rng.below(1000)) + "," + (row % 3 == 0 ? "u" : "v") + ",";
    left_out += none ? 1 : 0;
    all += line + (none ? "NA\n" : row % 2 == 0 ? "p\n" : "q\n");
    if (!none) kept += line + (row % 2 == 0 ? "p\n" : "q\n");
  }
  const auto expected = get(kept), seen = get(all);
  ASSERT_TRUE(expected.ok() && seen.ok()) << seen.error().text();
  EXPECT_EQ(seen->spec().hash, expected->spec().hash);
  EXPECT_EQ(seen->data_warnings(),
            std::vector{std::to_string(left_out) + " of 100 rows have no target (\"y\") and are left out: " +
                        std::to_string(left_out) + " cells are \"NA\"; keep_na=NA keeps that as a class"});
  EXPECT_TRUE(expected->data_warnings().empty());
  // Messages number rows by their position in the file.
  expect_error("a,y\n1,\n2,p\nx,q\n3,p\n4,q\n5,p\n6,q\n", "?numeric=a", Code::kDataLoss, "row 3 holds \"x\"");
}

TEST_F(Csv, WarnsOfAmbiguousColumns) {
  const auto warning = [&](const std::vector<std::string>& cells, const std::string& options = "") {
    std::string text = "x,z,y\n";
    for (std::size_t i = 0; i < cells.size(); ++i) {
      text += "\"" + cells[i] + "\"," + std::to_string(i % 9) + (i % 2 == 0 ? ",a\n" : ",b\n");
    }
    const auto set = get(text, options);
    EXPECT_TRUE(set.ok()) << set.error().text();
    if (!set.ok()) return std::string("error");
    return set->data_warnings().empty() ? std::string() : set->data_warnings()[0];
  };
  std::vector<std::string> odd(20, "3.5");
  odd[16] = "n.a.";
  EXPECT_EQ(warning(odd),
            "column \"x\": 19 of 20 values are numbers, but row 17 holds \"n.a.\"; correct it, or missing=n.a. if it "
            "means that there is no value, or categorical=x if the numbers are categories");
  EXPECT_EQ(warning(odd, "?missing=n.a."), "");
  EXPECT_EQ(warning(odd, "?categorical=x"), "");
  EXPECT_EQ(warning({"1,5", "2", "3", "4,25", "1", "2", "2", "2"}),
            "column \"x\": these look like numbers such as \"1,5\"; decimal=, reads them");
  EXPECT_EQ(warning({"1,500.5", "2", "3", "4", "1", "2", "2", "2"}),
            "column \"x\": these look like numbers such as \"1,500.5\"; decimal=. reads them");
  EXPECT_EQ(warning({"5 %", "1,234", "3", "4", "1", "2", "2", "2"}),
            "column \"x\": these look like numbers such as \"5 %\"; decimal=. or decimal=, declares how they are read");
  EXPECT_EQ(
      warning({"2024-01-02", "", "2024-01-03", "2024-01-02", "2024-01-02", "2024-01-02", "2024-01-02", "2024-01-02"}),
      "column \"x\": these look like dates such as \"2024-01-02\"; dates=x reads them");
  EXPECT_EQ(warning({"01067", "80331", "10115", "01069", "1", "2", "2", "2"}),
            "column \"x\": numbers such as \"01067\" look like codes; categorical=x takes them as such");
  EXPECT_EQ(warning({"0", "0.5", "-1", "10", "1e3", "2", "00.5", "2"}), "");
  EXPECT_EQ(warning({"red", "2", "blue", "3", "red", "2", "2", "red"}), "");

  // The error appears where the texts are too many to be categories.
  std::string many = "price,y\n";
  for (int i = 0; i < 600; ++i) many += "\"" + std::to_string(i) + ",5\"," + std::to_string(i % 2) + "\n";
  expect_error(many, "", Code::kDataLoss, "these look like numbers such as \"0,5\"; decimal=, reads them");
  EXPECT_TRUE(get(many, "?decimal=,").ok());
  expect_error(many, "?decimal=;", Code::kInvalidArgument, "decimal is \";\", allowed are . and ,");
}

TEST_F(Csv, ReportsUnseenCategories) {
  const auto set = get(kFlowers, "?drop=id");
  ASSERT_TRUE(set.ok());
  std::ofstream(folder_ + "/new.csv", std::ios::binary) << "length,colour\n1,red\n2,violet\n3,\n4,pink\n";
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->data_warnings,
            std::vector<std::string>{"2 cells hold categories that the model does not know (row 2 holds "
                                     "\"violet\" in column \"colour\") and count as missing"});
}

TEST_F(Csv, SplitsByGroupTimeAndTestFile) {
  std::string text = "patient,day,x,y\n";
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    text += "p" + std::to_string(rng.below(30)) + ",2024-0" + std::to_string(rng.between(1, 9)) + "-1" +
            std::to_string(rng.between(0, 9)) + "," + std::to_string(i) + (i % 3 == 0 ? ",u\n" : ",v\n");
  }
  const formats::CsvTable cells = *formats::parse_csv(text);

  const auto grouped = get(text, "?group=patient&drop=day");
  ASSERT_TRUE(grouped.ok()) << grouped.error().text();
  EXPECT_EQ(grouped->spec().features.dims, std::vector<std::int64_t>{1}) << "the group is no feature";
  std::map<std::string_view, std::set<Part>> parts_of;
  for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
    for (const std::int64_t r : grouped->rows(part)) parts_of[cells.cell(static_cast<std::size_t>(r), 0)].insert(part);
  }
  EXPECT_GT(parts_of.size(), 20U);
  for (const auto& [patient, parts] : parts_of) EXPECT_EQ(parts.size(), 1U) << patient;

  const auto ordered = get(text, "?order=day&drop=patient&dates=day");
  ASSERT_TRUE(ordered.ok()) << ordered.error().text();
  EXPECT_EQ(ordered->spec().features.dims, std::vector<std::int64_t>{6}) << "declared, so it is a feature";
  std::string_view latest;
  for (const Part part : {Part::kTrain, Part::kValidation, Part::kTest}) {
    std::string_view next = latest;
    for (const std::int64_t r : ordered->rows(part)) {
      const auto day = cells.cell(static_cast<std::size_t>(r), 1);
      EXPECT_GT(day, latest);
      next = std::max(next, day);
    }
    latest = next;
  }

  std::ofstream(folder_ + "/test.csv", std::ios::binary)
      << "y,more,x,day,patient\nu,?,7,2024-01-10,p1\n,0,8,2024-01-11,p2\nv,1,9,2024-01-12,p3\n";
  const auto apart = get(text, "?test=test.csv&drop=day,patient", "none");
  ASSERT_TRUE(apart.ok()) << apart.error().text();
  EXPECT_EQ(apart->rows(Part::kTest), (std::vector<std::int64_t>{200, 201}));
  EXPECT_EQ(apart->spec().split_rows, (std::array<std::int64_t, 3>{133, 67, 2}));
  EXPECT_EQ(row_features(*apart, 200), std::vector<float>{7});
  EXPECT_EQ(row_features(*apart, 201), std::vector<float>{9});
  EXPECT_EQ(apart->data_warnings(),
            std::vector<std::string>{"1 of 203 rows has no target (\"y\") and is left out: 1 cell is empty"});

  expect_error(text, "?group=patient&order=day", Code::kInvalidArgument, "group= and order= exclude each other");
  expect_error(text, "?group=y", Code::kInvalidArgument, "group= names the target \"y\"");
  expect_error(text, "?order=patient", Code::kDataLoss, "row 1 holds \"p");
  expect_error(text, "?group=patent", Code::kInvalidArgument, "did you mean \"patient\"?");
  std::ofstream(folder_ + "/test.csv", std::ios::binary) << "day,patient,y\n2024-01-10,p1,u\n";
  expect_error(text, "?test=test.csv&drop=day,patient", Code::kDataLoss, "the file lacks the columns \"x\"");
  std::ofstream(folder_ + "/test.csv", std::ios::binary) << "day,patient,x,y\n2024-01-10,p1,one,u\n";
  expect_error(text, "?test=test.csv&drop=day,patient&numeric=x", Code::kDataLoss, "row 1 of test.csv holds \"one\"");
}

}  // namespace
}  // namespace lanista::data
