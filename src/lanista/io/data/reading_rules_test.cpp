// What the second rules of reading change, next to the first ones.
#include <gtest/gtest.h>

#include <fstream>

#include "lanista/io/data/catalog.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/raw_input.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

using Texts = std::vector<std::string>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class ReadingRules : public RuledDataTest {
 protected:
  void save_labels(ElementType type, std::vector<std::int64_t> shape, const std::vector<double>& values) {
    Tensor y{.name = "", .type = type, .shape = std::move(shape), .bytes = {}};
    for (const double value : values) {
      const auto add = [&](auto typed) {
        const auto bytes = std::as_bytes(std::span(&typed, 1));
        y.bytes.insert(y.bytes.end(), bytes.begin(), bytes.end());
      };
      if (type == ElementType::kF32) add(static_cast<float>(value));
      if (type == ElementType::kF64) add(value);
      if (type == ElementType::kI64) add(static_cast<std::int64_t>(value));
    }
    write("y.npy", formats::encode_npy(y));
    const std::int64_t rows = y.shape[0];
    Tensor x{.name = "", .type = ElementType::kU8, .shape = {rows, 2}, .bytes = {}};
    for (std::int64_t i = 0; i < 2 * rows; ++i) x.bytes.push_back(static_cast<std::byte>(i * 7 % 251));
    write("x.npy", formats::encode_npy(x));
  }
  static std::string decision(const Dataset& set, const std::string& topic) {
    for (const ReadingDecision& each : set.decisions()) {
      if (each.topic == topic) return each.text;
    }
    return "";
  }
  static bool has_warning(const Dataset& set, const std::string& part) {
    return std::ranges::any_of(set.data_warnings(),
                               [&](const std::string& warning) { return contains(warning, part); });
  }
};

/// Rows "0.5,VALUE" with `values` in turn.
std::string rows_with(const Texts& values, int rows) {
  std::string out;
  for (int i = 0; i < rows; ++i) {
    out += std::to_string(i % 7) + ".5," + values[static_cast<std::size_t>(i) % values.size()] + "\n";
  }
  return out;
}

TEST_F(ReadingRules, HeaderWithNumbersIsNames) {
  const std::string text = "0,target\n" + rows_with({"yes", "no"}, 40);
  const auto set = table(text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().labels, (Texts{"no", "yes"}));
  EXPECT_EQ(decision(*set, "header"), "first line");
  const auto old = table(text, "", study::kFirstRules);
  ASSERT_TRUE(old.ok());
  EXPECT_EQ(old->spec().labels, (Texts{"no", "target", "yes"}));
  EXPECT_EQ(decision(*old, "header"), "");
}

TEST_F(ReadingRules, DoubtfulHeaderWarnsAndTargetByNameHelps) {
  const std::string text = "0.5,1.5,kind\n" + [] {
    std::string out;
    for (int i = 0; i < 40; ++i)
      out += std::to_string(i % 7) + ".5," + std::to_string(i % 5) + ".5,a" + (i % 2 ? "\n" : "b\n");
    return out;
  }();
  const auto set = table(text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_TRUE(has_warning(*set, "header=yes")) << decision(*set, "header");
  const auto named = table(text, "?target=kind");
  ASSERT_FALSE(named.ok());
  EXPECT_TRUE(contains(named.error().message, "the first line holds \"kind\": header=yes reads it as names"))
      << named.error().message;
  EXPECT_TRUE(table(text, "?target=kind&header=yes").ok());
}

TEST_F(ReadingRules, NewRowsAreReadByTheKnownNames) {
  const auto set = table("0,1,target\n" + [] {
    std::string out;
    for (int i = 0; i < 40; ++i)
      out += std::to_string(i % 7) + ".5," + std::to_string(i) + (i % 2 ? ",yes\n" : ",no\n");
    return out;
  }());
  ASSERT_TRUE(set.ok()) << set.error().text();
  write("new.csv", "0,1\n3.5,17\n");
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->rows(), 1);
}

TEST_F(ReadingRules, NewRowsOfATableWithoutHeaderHaveNone) {
  const std::string rows = rows_with({"yes", "no"}, 40);
  write("test.csv", "3,yes\n0.25,no\n");
  const auto set = table(rows, "?test=test.csv");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().rows, 42);
  write("new.csv", "3,yes\n0.25,no\n");
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->rows(), 2);
}

TEST_F(ReadingRules, SentinelsMatchByValue) {
  const std::string text = "x,y\n-999.0,a\n-999,b\n-999.00,a\n1.5,b\n2.5,a\n3.5,b\n4.5,a\n5.5,b\n";
  const auto set = table(text, "?missing=-999");
  ASSERT_TRUE(set.ok()) << set.error().text();
  const auto columns = parse_columns(set->spec().schema.at("columns"));
  EXPECT_EQ(columns->at(0).missing, 3);
  EXPECT_EQ(columns->at(0).stats.min, 1.5);
  const auto old = table(text, "?missing=-999", study::kFirstRules);
  EXPECT_EQ(parse_columns(old->spec().schema.at("columns"))->at(0).missing, 1);
}

TEST_F(ReadingRules, KeepNaKeepsClassesAndNoNumbers) {
  const std::string text = "x,c,y\n" + [] {
    std::string out;
    for (int i = 0; i < 40; ++i) {
      out += (i % 8 == 0 ? std::string("NA") : std::to_string(i) + ".5") + (i % 5 == 0 ? ",None" : ",red") +
             (i % 3 == 0 ? ",NA\n" : ",EU\n");
    }
    return out;
  }();
  const auto dropped = table(text);
  ASSERT_FALSE(dropped.ok());
  EXPECT_TRUE(contains(dropped.error().message,
                       "14 of 40 rows have no target (\"y\") and are left out: 14 cells are "
                       "\"NA\"; keep_na=NA keeps that as a class"))
      << dropped.error().message;
  const auto kept = table(text, "?keep_na=NA");
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  EXPECT_EQ(kept->spec().labels, (Texts{"EU", "NA"}));
  auto columns = *parse_columns(kept->spec().schema.at("columns"));
  EXPECT_EQ(columns[0].kind, ColumnKind::kNumber);
  EXPECT_EQ(columns[0].missing, 5);
  EXPECT_EQ(columns[1].missing, 8) << "None is not listed";
  const auto all = table(text, "?keep_na=yes");
  ASSERT_TRUE(all.ok());
  columns = *parse_columns(all->spec().schema.at("columns"));
  EXPECT_EQ(columns[1].categories, (Texts{"None", "red"}));
  write("new.csv", "x,c,y\nNA,None,NA\n");
  const auto raw = read_raw(all->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->labels, std::vector<std::int32_t>{1});
  EXPECT_EQ(raw->missing, 1);
  expect_failed(table(text, "?keep_na=EU"), Code::kInvalidArgument, "\"EU\" does not mean that");
}

TEST_F(ReadingRules, NoneAndTabsAreReadAsByPandas) {
  const std::string text = "x,c,y\n" + [] {
    std::string out;
    for (int i = 0; i < 40; ++i)
      out += std::to_string(i) + ".5\t," + (i % 4 == 0 ? "None" : "red") + (i % 2 ? ",a\n" : ",b\n");
    return out;
  }();
  const auto set = table(text);
  ASSERT_TRUE(set.ok()) << set.error().text();
  const auto columns = *parse_columns(set->spec().schema.at("columns"));
  EXPECT_EQ(columns[0].kind, ColumnKind::kNumber);
  EXPECT_EQ(columns[1].missing, 10);
  const auto old = *parse_columns(table(text, "", study::kFirstRules)->spec().schema.at("columns"));
  EXPECT_EQ(old[0].kind, ColumnKind::kCategory);
  EXPECT_EQ(old[1].missing, 0);
}

TEST_F(ReadingRules, NumbersAreClassesByValue) {
  const auto mixed = table("x,y\n" + rows_with({"1", "1.0", "0", "0.00"}, 40));
  ASSERT_TRUE(mixed.ok()) << mixed.error().text();
  EXPECT_EQ(mixed->spec().labels, (Texts{"0", "1"}));
  EXPECT_EQ(decision(*mixed, "target"), "the whole numbers 0 to 1, read as classes; task=numbers reads numbers");
  EXPECT_EQ(table("x,y\n" + rows_with({"1", "1.0", "0", "0.00"}, 40), "", study::kFirstRules)->spec().classes, 4);
  const auto one_spelling = table("x,y\n" + rows_with({"01", "02"}, 40));
  EXPECT_EQ(one_spelling->spec().labels, (Texts{"01", "02"}));
  const auto large = table("x,y\n" + rows_with({"9007199254740993", "9007199254740992"}, 40));
  ASSERT_TRUE(large.ok());
  EXPECT_EQ(large->spec().labels, (Texts{"9007199254740992", "9007199254740993"}));
  write("new.csv", "x,y\n0.5,1.00\n0.5,0\n");
  const auto raw = read_raw(mixed->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->labels, (std::vector<std::int32_t>{1, 0}));
}

TEST_F(ReadingRules, ZeroToKAreClassesWhateverK) {
  Texts many;
  for (int i = 0; i < 30; ++i) many.push_back(std::to_string(i));
  EXPECT_EQ(table("x,y\n" + rows_with(many, 60))->spec().classes, 30);
  EXPECT_EQ(table("x,y\n" + rows_with(many, 59))->spec().classes, 0) << "an index, not classes";
  EXPECT_EQ(table("x,y\n" + rows_with(many, 60), "", study::kFirstRules)->spec().classes, 0);
  many.back() = "31";
  const auto gap = table("x,y\n" + rows_with(many, 60));
  EXPECT_EQ(gap->spec().classes, 0);
  EXPECT_EQ(decision(*gap, "target"),
            "30 different whole numbers from 0 to 31, read as numbers; task=classes reads classes");
}

TEST_F(ReadingRules, OneHotColumnsAreClasses) {
  const std::string text = "x,cat,dog\n" + rows_with({"1,0", "0,1", "0,1"}, 40);
  const auto set = table(text, "?target=cat,dog");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().labels, (Texts{"cat", "dog"}));
  const auto again = parse_spec(spec_json(set->spec()));
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(spec_json(*again), spec_json(set->spec()));
  write("new.csv", "x,cat,dog\n0.5,0,1\n1.5,1,0\n");
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->labels, (std::vector<std::int32_t>{1, 0}));
  EXPECT_TRUE(table(text, "?target=cat,dog&task=multilabel")->spec().multilabel);
  EXPECT_TRUE(table(text, "?target=cat,dog", study::kFirstRules)->spec().multilabel);
  const auto labels = table("x,cat,dog\n" + rows_with({"1,1", "0,1"}, 40), "?target=cat,dog");
  EXPECT_TRUE(labels->spec().multilabel);
}

TEST_F(ReadingRules, ArraysFollowTheRuleOfTables) {
  std::vector<double> zero_one, prices, negative, one_hot, fractions;
  for (int i = 0; i < 60; ++i) {
    zero_one.push_back(i % 2);
    prices.push_back(i * 837 % 50021);
    negative.push_back(i % 3 - 1);
    fractions.push_back(i + 0.5);
    for (int c = 0; c < 3; ++c) one_hot.push_back(i % 3 == c ? 1 : 0);
  }
  save_labels(ElementType::kF64, {60}, zero_one);
  EXPECT_EQ(get("npy:x.npy,y.npy")->spec().labels, (Texts{"0", "1"}));
  EXPECT_EQ(get("npy:x.npy,y.npy", study::kFirstRules)->spec().classes, 0);
  EXPECT_EQ(get("npy:x.npy,y.npy?task=numbers")->spec().classes, 0);
  save_labels(ElementType::kI64, {60}, prices);
  const auto numbers = get("npy:x.npy,y.npy");
  EXPECT_EQ(numbers->spec().classes, 0);
  EXPECT_TRUE(decision(*numbers, "target").ends_with("read as numbers; task=classes reads classes"));
  EXPECT_EQ(get("npy:x.npy,y.npy?task=classes")->spec().classes, 60);
  save_labels(ElementType::kF32, {60, 1}, negative);
  const auto set = get("npy:x.npy,y.npy");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().labels, (Texts{"-1", "0", "1"}));
  const auto raw = read_raw(set->spec(), folder_ + "/x.npy," + folder_ + "/y.npy", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->labels[0], 0);
  EXPECT_EQ(raw->labels[2], 2);
  save_labels(ElementType::kF32, {60, 3}, one_hot);
  const auto hot = get("npy:x.npy,y.npy");
  EXPECT_EQ(hot->spec().classes, 3);
  EXPECT_TRUE(decision(*hot, "target").starts_with("one-hot rows, read as 3 classes"));
  one_hot[0] = one_hot[1] = 1;
  save_labels(ElementType::kF32, {60, 3}, one_hot);
  EXPECT_TRUE(get("npy:x.npy,y.npy")->spec().multilabel);
  save_labels(ElementType::kF32, {60}, fractions);
  expect_failed(get("npy:x.npy,y.npy?task=classes"), Code::kDataLoss, "row 0 holds 0.5; task=numbers reads numbers");
}

TEST_F(ReadingRules, OffsetsAndFractionsOrderRows) {
  std::string text = "when,x,y\n", fractions = text;
  for (int i = 0; i < 40; ++i) {
    const std::string minute = (i < 10 ? "0" : "") + std::to_string(i);
    // Those of the first half are written with later local times.
    text += i < 20 ? "2024-01-01T22:" + minute + ":00+12:00" : "2024-01-01 01:" + minute + ":00 -12:00";
    text += ",1,a" + std::to_string(i % 2) + "\n";
    fractions +=
        "2024-01-01 00:00:00.0000000" + minute + "," + (i < 20 ? "1" : "2") + ",a" + std::to_string(i % 2) + "\n";
  }
  const auto set = table(text, "?order=when");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->rows(Part::kTrain).back(), 19);
  const auto old = table(text, "?order=when", study::kFirstRules);
  EXPECT_EQ(old->rows(Part::kTrain).front(), 20);
  const auto fine = table(fractions, "?order=when");
  ASSERT_TRUE(fine.ok()) << fine.error().text();
  EXPECT_EQ(fine->rows(Part::kTrain).back(), 19);
  expect_failed(table(fractions, "?order=when", study::kFirstRules), Code::kInvalidArgument, "1 times");
  expect_failed(table("when,x,y\n2024-01-01 10:00Z,1,a\n2024-01-01 11:00,2,b\n2024-01-02,3,a\n", "?order=when"),
                Code::kDataLoss, "row 1 has an offset from UTC, row 2 has none");
}

TEST_F(ReadingRules, DatesHaveElapsedDays) {
  std::string text = "when,y\n";
  for (int i = 0; i < 40; ++i)
    text += "2024-01-01 12:00:00+0" + std::to_string(i % 3) + ":00,a" + std::to_string(i % 2) + "\n";
  const auto set = table(text, "?dates=when");
  ASSERT_TRUE(set.ok()) << set.error().text();
  const auto column = parse_columns(set->spec().schema.at("columns"))->at(0);
  EXPECT_STREQ(column.part_name(6), "elapsed");
  EXPECT_EQ(column.elapsed_from, 1704103200) << "10:00 in UTC";
  EXPECT_EQ(column.parts[6].max, 2.0 / 24);
  EXPECT_EQ(columns_json({column})[0], set->spec().schema.at("columns")[0]);
  const auto old = table(text, "?dates=when", study::kFirstRules);
  EXPECT_EQ(old->spec().features.dims, std::vector<std::int64_t>{6});
}

TEST_F(ReadingRules, LargeWholeNumbersOrderRowsExactly) {
  std::string text = "t,x,y\n";
  for (int i = 0; i < 40; ++i) {
    text +=
        "17000000000000000" + std::to_string(50 - i) + "," + std::to_string(i) + ",a" + std::to_string(i % 2) + "\n";
  }
  const auto set = table(text, "?order=t");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->rows(Part::kTrain).front(), 20);
}

TEST_F(ReadingRules, RemarksNameTheColumnAndTheWayOut) {
  const auto warned = [&](const std::string& a, const std::string& b, const std::string& part) {
    const auto set = table("odd,x,y\n" + [&] {
      std::string out;
      for (int i = 10; i < 50; ++i)
        out += a + std::to_string(i) + b + "," + std::to_string(i) + (i % 2 ? ".5,p\n" : ".5,q\n");
      return out;
    }());
    ASSERT_TRUE(set.ok()) << set.error().text();
    EXPECT_TRUE(has_warning(*set, "column \"odd\": ") && has_warning(*set, part)) << part;
  };
  warned("$", ".20", "decimal=. reads them");
  warned("", " kg", "numbers with a text around them such as \"10 kg\"");
  warned("u", "", "all 40 values differ, as those of an identifier do; drop=odd leaves the column out");
  warned("1/11/20", "", "day and month have no known order: write them as 2024-01-31, or drop=odd");
  warned("2024-01-01 10:", "", "dates=odd reads them");
  const auto read =
      table("odd,x,y\n$1.5,1.5,p\n-$2.5,2.5,q\n\"3,000 €\",3.5,p\n4,4.5,q\n5,5.5,p\n6,6.5,q\n", "?decimal=.");
  ASSERT_TRUE(read.ok()) << read.error().text();
  const auto column = parse_columns(read->spec().schema.at("columns"))->at(0);
  EXPECT_EQ(column.stats.min, -2.5);
  EXPECT_EQ(column.stats.max, 3000);
}

TEST_F(ReadingRules, ReportsNumbersBeyondFloat) {
  expect_failed(table("a,b,y\n1.5,2.5,p\n1.5,1e39,q\n2.5,3.5,p\n2.5,3.5,q\n"), Code::kDataLoss,
                "column \"b\": row 2 holds \"1e39\", which is finite but beyond float32");
  expect_failed(table("a,y\n1.5,2.5\n1.5,-1e300\n2.5,3.5\n2.5,4.5\n"), Code::kDataLoss, "column \"y\": row 2 holds");
  save_labels(ElementType::kF64, {4}, {0.5, 1e39, 2, 3});
  expect_failed(get("npy:x.npy,y.npy"), Code::kDataLoss, "target 0 of row 1 is 1e+39, which is finite but beyond");
}

TEST_F(ReadingRules, WarnsOfChannelsLast) {
  save_labels(ElementType::kI64, {40}, [] {
    std::vector<double> out;
    for (int i = 0; i < 40; ++i) out.push_back(i % 2);
    return out;
  }());
  Tensor x{.name = "", .type = ElementType::kU8, .shape = {40, 5, 6, 3}, .bytes = std::vector<std::byte>(3600)};
  write("x.npy", formats::encode_npy(x));
  const auto set = get("npy:x.npy,y.npy");
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(has_warning(*set, "[5, 6, 3] look like images with the channels last"));
  x.shape = {40, 3, 5, 6};
  write("x.npy", formats::encode_npy(x));
  EXPECT_FALSE(has_warning(*get("npy:x.npy,y.npy"), "channels"));
}

TEST_F(ReadingRules, CheckPrintsTheDecisions) {
  write("t.csv", "x,y\n" + rows_with({"0", "1", "2"}, 40));
  study::DataConfig config;
  config.source = "csv:t.csv";
  const auto report = check_source(config, folder_, real_file_system());
  ASSERT_TRUE(report.ok()) << report.error().text();
  EXPECT_TRUE(contains(report->text(),
                       "header    first line\n"
                       "target    the whole numbers 0 to 2, read as classes; task=numbers reads numbers\n"))
      << report->text();
  EXPECT_EQ(report->json().at("decisions").at("header"), "first line");
}

}  // namespace
}  // namespace lanista::data
