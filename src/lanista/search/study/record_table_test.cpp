#include "lanista/search/study/record_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace lanista::study::fields {
namespace {

using Json = nlohmann::json;

struct Part {
  std::int64_t number = 0;
  bool operator==(const Part&) const = default;
};
void table(FieldTable& t, Part& part) { t.at_least(2, "number", part.number); }

/// A record with one field of each type.
struct Everything {
  std::int64_t whole = -3;
  double real = 0.5;
  bool flag = true;
  std::string text = "a";
  TrialId trial{7};
  Digest hash = hash_text("content");
  std::map<std::string, double> metrics = {{"loss", std::numeric_limits<double>::infinity()}};
  std::int64_t number = 1;  // 1: left out
  std::optional<TrialId> parent = {};
  std::optional<std::int64_t> fold = {};
  std::optional<Part> word = {};
  Part part{2};
  std::vector<Part> parts = {{3}, {4}};
  std::vector<double> reals = {0.25};
  bool operator==(const Everything&) const = default;
};
void table(FieldTable& t, Everything& e) {
  t("whole", e.whole)("real", e.real)("flag", e.flag)("text", e.text)("trial", e.trial)("hash", e.hash);
  t("metrics", e.metrics).optional("number", e.number, 1).optional("parent", e.parent);
  t.or_text("none", "fold", e.fold).or_text("random", "word", e.word, table).via("part", e.part, table);
  t.list("parts", e.parts, table, "part").list("reals", e.reals, real_json, [](const Json& in) {
    return in.get<double>();
  });
  t.check(e.flag, "'flag' must be true");
}

Json written() { return write_table(Everything(), table); }

std::string refusal(const char* name, const Json& value) {
  Json record = written();
  record[name] = value;
  const auto read = read_table<Everything>("record", record, table);
  return read ? "is read" : read.error().text();
}

TEST(RecordTable, WritesEachFieldByItsName) {
  EXPECT_EQ(written(), (Json{{"whole", -3},
                             {"real", 0.5},
                             {"flag", true},
                             {"text", "a"},
                             {"trial", 7},
                             {"hash", hash_text("content").hex()},
                             {"metrics", {{"loss", "inf"}}},
                             {"fold", "none"},
                             {"word", "random"},
                             {"part", {{"number", 2}}},
                             {"parts", {{{"number", 3}}, {{"number", 4}}}},
                             {"reals", {0.25}}}));
}

TEST(RecordTable, ReadsWhatItWrites) {
  Everything other{.whole = 5, .text = "", .number = 9, .parent = TrialId{2}, .fold = 0, .word = Part{8}};
  other.real = -std::numeric_limits<double>::infinity();
  other.parts.clear();
  for (const Everything& each : {Everything(), other}) {
    const Json record = write_table(each, table);
    const auto read = read_table<Everything>("record", record, table);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(*read, each);
    EXPECT_EQ(write_table(*read, table), record);
  }
}

TEST(RecordTable, RefusesEachMissingFieldByName) {
  const Json whole = written();
  for (const auto& [name, value] : whole.items()) {
    Json record = whole;
    record.erase(name);
    const auto read = read_table<Everything>("record", record, table);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().code, Code::kDataLoss);
    EXPECT_EQ(read.error().text(), "broken record: '" + name + "' is missing");
  }
}

TEST(RecordTable, RefusesValuesOfAnotherType) {
  EXPECT_EQ(refusal("whole", 0.5), "broken record: 'whole' is not a whole number");
  EXPECT_EQ(refusal("real", "many"), "broken record: 'real' is not a number");
  EXPECT_EQ(refusal("flag", 1), "broken record: 'flag' is neither true nor false");
  EXPECT_EQ(refusal("text", 1), "broken record: 'text' is not a text");
  EXPECT_EQ(refusal("trial", 0), "broken record: 'trial' is 0, not a trial's number");
  EXPECT_EQ(refusal("hash", "12"), "broken record: 'hash' is not a hash");
  EXPECT_EQ(refusal("metrics", 1), "broken record: 'metrics' is not an object");
  EXPECT_EQ(refusal("number", "1"), "broken record: 'number' is not a whole number");
  EXPECT_EQ(refusal("parent", Json()), "broken record: 'parent' is not a whole number");
  EXPECT_EQ(refusal("fold", "any"), "broken record: 'fold' is not a whole number");
  EXPECT_EQ(refusal("part", 3), "broken record: not an object where one with 'number' is expected");
  EXPECT_EQ(refusal("parts", 3), "broken record: 'parts' is not a list");
}

TEST(RecordTable, RefusesValuesOutOfRange) {
  EXPECT_EQ(refusal("part", {{"number", 1}}), "broken record: 'number' is below 2");
  EXPECT_EQ(refusal("parts", {{{"number", 1}}}), "broken record: broken part: 'number' is below 2");
  EXPECT_EQ(refusal("flag", false), "broken record: 'flag' must be true");
}

TEST(RecordTable, ReadsOldNullsInMetricsAsNan) {
  Json record = written();
  record["metrics"]["loss"] = nullptr;
  const auto read = read_table<Everything>("record", record, table);
  ASSERT_TRUE(read);
  EXPECT_TRUE(std::isnan(read->metrics.at("loss")));
}

TEST(RecordTable, NamesNullsAlone) {
  const Json record{{"null", nullptr}, {"number", 1}};
  const FieldTable in(record);
  EXPECT_TRUE(in.is_null("null"));
  EXPECT_FALSE(in.is_null("number"));
  EXPECT_FALSE(in.is_null("absent"));
}

}  // namespace
}  // namespace lanista::study::fields
