// Several columns of a table as targets: numbers, or labels.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "lanista/io/data/catalog.h"
#include "lanista/io/data/table.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class SeveralTargets : public InMemoryDataTest {
 protected:
  /// 40 rows: x, three columns as `cells` returns them, k.
  void table(const std::function<std::string(int)>& cells, const std::string& names = "a,b,c") {
    std::string text = "x," + names + ",k\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i % 7) + "," + cells(i) + "," + std::to_string(i % 3) + "\n";
    write("/t.csv", text);
  }
  static std::string numbers(int i) {
    return std::to_string(i) + "," + std::to_string(1000 - 10 * i) + "," + std::to_string(0.5 * (i % 4));
  }
  static std::string labels(int i) {
    return std::string(i % 2 == 0 ? "1" : "0") + "," + (i % 3 == 0 ? "true" : "False") + "," +
           (i % 5 == 0 ? "no" : "YES");
  }
};

TEST_F(SeveralTargets, AreNumbersWithSeparateUnits) {
  table(numbers);
  const auto set = get("csv:/t.csv?target=a,c,b");
  ASSERT_TRUE(set.ok()) << set.error().text();
  const DataSpec& spec = set->spec();
  EXPECT_EQ(spec.classes, 0);
  EXPECT_EQ(spec.target_size, 3);
  EXPECT_FALSE(spec.multilabel);
  EXPECT_EQ(spec.features, graph::Shape{{2}}) << "x and k";
  EXPECT_EQ(target_names(spec), (std::vector<std::string>{"a", "c", "b"})) << "in the order of target=";
  const auto raw = targets_of(*set);
  for (int i = 0; i < 40; ++i) {
    const auto at = static_cast<std::size_t>(3 * i);
    EXPECT_EQ(std::vector<float>(raw.begin() + 3 * i, raw.begin() + 3 * i + 3),
              (std::vector<float>{static_cast<float>(i), 0.5F * static_cast<float>(i % 4),
                                  static_cast<float>(1000 - 10 * i)}))
        << at;
  }
  // Mean and deviation of the training rows, for each target.
  ASSERT_TRUE(spec.target_normalization);
  for (std::size_t k = 0; k < 3; ++k) {
    double mean = 0, squares = 0;
    const auto& rows = set->rows(Part::kTrain);
    for (const std::int64_t row : rows) mean += double{raw[static_cast<std::size_t>(row) * 3 + k]};
    mean /= static_cast<double>(rows.size());
    for (const std::int64_t row : rows) {
      squares += std::pow(double{raw[static_cast<std::size_t>(row) * 3 + k]} - mean, 2);
    }
    EXPECT_NEAR(spec.target_normalization->mean[k], mean, 1e-9);
    EXPECT_NEAR(spec.target_normalization->scale[k], std::sqrt(squares / static_cast<double>(rows.size())), 1e-9);
  }
  expect_same_rows(*set, "/t.csv");
  const auto repeated = parse_spec(spec_json(spec));
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_EQ(spec_json(*repeated), spec_json(spec));
  EXPECT_NE(schema_text(spec).find("b  target    number, standardised (mean "), std::string::npos) << schema_text(spec);
}

TEST_F(SeveralTargets, AreLabelsWhenAllCellsAreBinary) {
  table(labels);
  const auto set = get("csv:/t.csv?target=a,b,c");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->spec().multilabel);
  EXPECT_EQ(set->spec().classes, 0);
  EXPECT_EQ(set->spec().target_size, 3);
  EXPECT_FALSE(set->spec().target_normalization) << "nothing standardises zeros and ones";
  const auto raw = targets_of(*set);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(std::vector<float>(raw.begin() + 3 * i, raw.begin() + 3 * i + 3),
              (std::vector<float>{i % 2 == 0 ? 1.0F : 0.0F, i % 3 == 0 ? 1.0F : 0.0F, i % 5 == 0 ? 0.0F : 1.0F}))
        << i;
  }
  expect_same_rows(*set, "/t.csv");
  const auto repeated = parse_spec(spec_json(set->spec()));
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_TRUE(repeated->multilabel);
  const auto as_numbers = get("csv:/t.csv?target=a,k&task=numbers&drop=b,c");
  ASSERT_TRUE(as_numbers.ok()) << as_numbers.error().text();
  EXPECT_FALSE(as_numbers->spec().multilabel);
  const auto one = get("csv:/t.csv?target=b&task=multilabel");
  ASSERT_TRUE(one.ok()) << one.error().text();
  EXPECT_TRUE(one->spec().multilabel);
  EXPECT_EQ(one->spec().target_size, 1);
  const auto classes = get("csv:/t.csv?target=a");
  ASSERT_TRUE(classes.ok());
  EXPECT_EQ(classes->spec().classes, 2) << "one column of zeros and ones is classes, as it was";
}

TEST_F(SeveralTargets, DropIncompleteRowsAndWarn) {
  table([](int i) { return i == 3 ? "1,,3" : i == 5 ? "?,2,NA" : numbers(i); });
  const auto set = get("csv:/t.csv?target=a,b,c");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().rows, 38);
  EXPECT_EQ(set->data_warnings(),
            std::vector<std::string>{"2 of 40 rows lack one of the targets (\"a\", \"b\", \"c\") and are left out: 1 "
                                     "cell is empty, 1 cell is \"?\", 1 cell is \"NA\""});
}

TEST_F(SeveralTargets, ReportCellOfInvalidTarget) {
  table([](int i) { return i == 6 ? "1,blue,3" : numbers(i); });
  expect_error("csv:/t.csv?target=a,b,c", Code::kDataLoss, "column \"b\": row 7 holds \"blue\", which is not a number");
  expect_error("csv:/t.csv?target=a,b", Code::kDataLoss,
               "several targets are numbers, or labels: 0 and 1 in all of them");
  table(numbers);
  expect_error("csv:/t.csv?target=a,b&task=multilabel", Code::kDataLoss,
               "column \"b\": row 1 holds \"1000\", which is no label; labels are 0 or 1, false or true, no or yes");
  expect_error("csv:/t.csv?target=a,b&task=classes", Code::kInvalidArgument,
               "task=classes is of one target, there are 2");
  expect_error("csv:/t.csv?target=a,a", Code::kInvalidArgument, "target= names \"a\" twice");
  expect_error("csv:/t.csv?target=a,d", Code::kInvalidArgument, "no column \"d\"");
  expect_error("csv:/t.csv?target=a,b&drop=b", Code::kInvalidArgument, "the target \"b\" cannot be dropped");
  expect_error("csv:/t.csv?target=x,a,b,c,k", Code::kInvalidArgument, "no column is left");
  table(numbers, "a,\"b,c\",d");
  const auto comma = get("csv:/t.csv?target=b,c");
  ASSERT_TRUE(comma.ok()) << comma.error().text();
  EXPECT_EQ(target_names(comma->spec()), std::vector<std::string>{"b,c"}) << "a name may have a comma";
}

TEST_F(SeveralTargets, RoundTripThroughSchema) {
  table(labels);
  write("/s.json", R"({"columns": [{"name": "x", "kind": "number"}],
                       "target": {"names": ["a", "b"], "kind": "multilabel"}})");
  const auto set = get("csv:/t.csv?schema=/s.json");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(set->spec().multilabel);
  EXPECT_EQ(set->spec().target_size, 2);
  // A file that lacks one of them has samples, and no targets.
  write("/new.csv", "x,a\n1,1\n");
  const auto raw = read_raw(set->spec(), "/new.csv", disk_);
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_TRUE(raw->targets.empty());
  write("/some.csv", "x,a,b\n1,1,0\n2,,1\n3,0,1\n");
  const auto some = read_raw(set->spec(), "/some.csv", disk_);
  ASSERT_TRUE(some.ok()) << some.error().text();
  ASSERT_EQ(some->targets.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(std::isnan(some->targets[i]), i / 2 == 1) << "a row that lacks one has none";
  }
  EXPECT_EQ(some->targets[4], 0);
  EXPECT_EQ(some->targets[5], 1);
  write("/bad.csv", "x,a,b\n1,1,2\n");
  expect_raw_error(set->spec(), "/bad.csv", Code::kDataLoss, "which is no label");
  const auto refused = [&](const std::string& schema, const std::string& message) {
    write("/s.json", schema);
    expect_error("csv:/t.csv?schema=/s.json", Code::kInvalidArgument, message);
  };
  refused(R"({"columns": [{"name": "x", "kind": "number"}], "target": {"names": ["a", "a"]}})", "\"a\" stands twice");
  refused(R"({"columns": [{"name": "a", "kind": "number"}], "target": {"names": ["a", "b"]}})", "stands twice");
  refused(R"({"columns": [{"name": "x", "kind": "number"}], "target": {"names": ["a", 1]}})", "a list of texts");
}

TEST_F(SeveralTargets, AreListedInText) {
  table(labels);
  study::DataConfig config;
  config.source = "csv:/t.csv?target=a,b";
  const auto report = check_source(config, "", disk_);
  ASSERT_TRUE(report.ok()) << report.error().text();
  const std::string text = report->text();
  EXPECT_NE(text.find("labels    2 (rows that have it: training, validation, test)\n    a: "), std::string::npos)
      << text;
  EXPECT_NE(text.find("a  target    label, 0 or 1\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace lanista::data
