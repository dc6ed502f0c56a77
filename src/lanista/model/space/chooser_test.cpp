#include "lanista/model/space/chooser.h"

#include <gtest/gtest.h>

#include <set>

namespace lanista::space {
namespace {

/// Asks every kind of question.
std::string questions(Chooser& choose) {
  std::string text = std::to_string(choose.index("site", 4));
  text += " " + value_text(choose.sample_value("lr", FloatRange{1e-3, 1, 0, true}));
  text += " " + value_text(choose.sample_value("units", IntRange{8, 64, 8}));
  text += " " + choose.one_of("op", std::vector<std::string>{"relu", "gelu"});
  return text;
}

TEST(Chooser, RecordsEveryDecision) {
  RandomChooser choose(Rng(3));

  questions(choose);

  const Trace& trace = choose.trace();
  ASSERT_EQ(trace.size(), 4U);
  EXPECT_EQ(trace[0].label, "site");
  EXPECT_EQ(trace[0].count, 4);
  EXPECT_EQ(trace[1].label, "lr");
  EXPECT_EQ(trace[1].count, 0);
  EXPECT_EQ(trace[2].count, 8);
  EXPECT_EQ(trace[3].count, 2);
}

TEST(Chooser, SameStreamSameAnswers) {
  RandomChooser a(Rng(3));
  RandomChooser b(Rng(3));
  RandomChooser c(Rng(4));

  const std::string answers = questions(a);

  EXPECT_EQ(answers, questions(b));
  EXPECT_NE(answers, questions(c));
}

TEST(Chooser, AbortsOnEmptyChoice) {
  RandomChooser choose(Rng(3));

  EXPECT_THROW(choose.index("site", 0), InternalError);
}

TEST(ReplayChooser, GivesTheRecordedAnswers) {
  RandomChooser original(Rng(5));
  const std::string answers = questions(original);
  const auto stored = trace_from_json(nlohmann::json::parse(trace_json(original.trace()).dump()));
  ASSERT_TRUE(stored.ok()) << stored.error().text();
  ASSERT_EQ(*stored, original.trace());

  ReplayChooser replay(*stored);

  EXPECT_EQ(questions(replay), answers);
  EXPECT_TRUE(replay.status().ok());
  EXPECT_EQ(replay.trace(), original.trace());
}

void expect_data_loss(const ReplayChooser& replay, const std::string& part) {
  const auto status = replay.status();

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::kDataLoss);
  EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
}

TEST(ReplayChooser, ReportsMismatchedRecord) {
  ReplayChooser other_label({{"place", 4, std::int64_t{2}}});
  EXPECT_EQ(other_label.index("site", 4), 0);
  expect_data_loss(other_label, "asked for 'site' among 4, the record holds 'place' among 4");

  ReplayChooser other_count({{"site", 5, std::int64_t{2}}});
  EXPECT_EQ(other_count.index("site", 4), 0);
  expect_data_loss(other_count, "among 5");

  ReplayChooser out_of_range({{"site", 4, std::int64_t{4}}});
  EXPECT_EQ(out_of_range.index("site", 4), 0);
  expect_data_loss(out_of_range, "4 is not a number from 0 to 3");

  ReplayChooser too_short({});
  EXPECT_EQ(too_short.index("site", 4), 0);
  expect_data_loss(too_short, "too short");

  ReplayChooser outside({{"lr", 0, 2.5}});
  EXPECT_EQ(std::get<double>(outside.sample_value("lr", FloatRange{0.5, 1})), 0.5);
  expect_data_loss(outside, "2.5 is not in range(0.5, 1)");

  ReplayChooser unused({{"site", 4, std::int64_t{1}}});
  expect_data_loss(unused, "only 0 were asked; the next is 'site'");
}

TEST(Trace, RefusesBrokenJson) {
  for (const char* text : {"{}", "[1]", "[[\"a\", 1]]", "[[1, 1, 1]]", "[[\"a\", -1, 1]]", "[[\"a\", 1, null]]",
                           "[[\"a\", 18446744073709551615, 1]]"}) {
    EXPECT_FALSE(trace_from_json(nlohmann::json::parse(text)).ok()) << text;
  }
}

TEST(GridChooser, WalksEveryCombinationOnce) {
  std::set<std::string> seen;
  for (std::uint64_t i = 0; i < 4 * 5 * 8 * 2; ++i) {
    GridChooser choose(i, 5);
    seen.insert(questions(choose));
    EXPECT_FALSE(choose.exhausted()) << i;
  }
  GridChooser beyond(4 * 5 * 8 * 2, 5);
  questions(beyond);

  EXPECT_EQ(seen.size(), 4U * 5U * 8U * 2U);
  EXPECT_TRUE(beyond.exhausted());
}

}  // namespace
}  // namespace lanista::space
