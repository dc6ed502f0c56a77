#include "lanista/app/report/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "lanista/app/report/facts.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using testing::random_study;
using testing::small_study;

json trace(const study::StudyView& view, std::size_t events = 1'000'000) {
  return json::parse(chrome_trace(view, {.events = events}));
}

std::map<std::string, std::size_t> counts(const json& trace) {
  std::map<std::string, std::size_t> out;
  for (const json& event : trace.at("traceEvents")) ++out[event.at("ph")];
  return out;
}

// Checks that spans of a thread do not overlap, that times do not decrease, and that arrows are inside spans and lead
// forwards.
void expect_sound(const json& trace) {
  std::map<std::pair<int, std::int64_t>, std::int64_t> now;
  std::map<std::pair<int, std::int64_t>, bool> open;
  std::map<std::int64_t, std::int64_t> starts, ends;
  for (const json& event : trace.at("traceEvents")) {
    const std::string phase = event.at("ph");
    if (phase == "M" || phase == "C") continue;
    const std::pair thread{event.at("pid").get<int>(), event.at("tid").get<std::int64_t>()};
    const std::int64_t at = event.at("ts");
    EXPECT_GE(at, now[thread]);
    now[thread] = at;
    if (phase == "B") {
      EXPECT_FALSE(open[thread]);
      open[thread] = true;
      continue;
    }
    EXPECT_TRUE(open[thread]);
    if (phase == "E") open[thread] = false;
    if (phase == "s") starts[event.at("id")] = at;
    if (phase == "f") ends[event.at("id")] = at;
  }
  for (const auto& [thread, is_open] : open) EXPECT_FALSE(is_open);
  EXPECT_EQ(starts.size(), ends.size());
  for (const auto& [id, at] : starts) {
    ASSERT_TRUE(ends.contains(id));
    EXPECT_LE(at, ends[id]);
  }
}

TEST(ChromeTrace, ShowsEpochsOfWorkersCountersAndLineage) {
  study::StudyView view = small_study();
  view.config.name = "small";
  view.trials.resize(2);
  view.trials[1].proposal.parent = TrialId{1};
  view.spans = {{TrialId{1}, 1, 0, 0, 0.5}, {TrialId{2}, 1, 1, 0.5, 1}};

  EXPECT_EQ(
      chrome_trace(view),
      R"({"displayTimeUnit":"ms","otherData":{"dropped":{"arrows":0,"counters":0,"spans":0},"study":"small","v":1},)"
      R"("traceEvents":[
{"args":{"name":"cpu"},"name":"process_name","ph":"M","pid":1},
{"args":{"name":"worker 0"},"name":"thread_name","ph":"M","pid":1,"tid":1},
{"args":{"name":"worker 1"},"name":"thread_name","ph":"M","pid":1,"tid":2},
{"args":{"epoch":1,"trial":1},"name":"#1 epoch 1","ph":"B","pid":1,"tid":1,"ts":0},
{"cat":"lineage","id":1,"name":"parent","ph":"s","pid":1,"tid":1,"ts":500000},
{"ph":"E","pid":1,"tid":1,"ts":500000},
{"args":{"epoch":1,"trial":2},"name":"#2 epoch 1","ph":"B","pid":1,"tid":2,"ts":500000},
{"bp":"e","cat":"lineage","id":1,"name":"parent","ph":"f","pid":1,"tid":2,"ts":500000},
{"ph":"E","pid":1,"tid":2,"ts":1000000},
{"args":{"value":1},"name":"trials under way","ph":"C","pid":1,"ts":0},
{"args":{"value":0},"name":"trials under way","ph":"C","pid":1,"ts":1000000},
{"args":{"value":0.5},"name":"best val_accuracy","ph":"C","pid":1,"ts":500000},
{"args":{"value":0.875},"name":"best val_accuracy","ph":"C","pid":1,"ts":1000000}
]}
)");
}

TEST(ChromeTrace, IsValidForRandomStudies) {
  std::size_t arrows = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
    const study::StudyView view = random_study(200, seed);
    const json events = trace(view);
    expect_sound(events);
    EXPECT_EQ(counts(events)["B"], view.spans.size());
    arrows += counts(events)["s"];
  }
  EXPECT_GT(arrows, 100U);
}

TEST(ChromeTrace, MovesOverlappingSpansApart) {
  study::StudyView view = small_study();
  view.spans = {{TrialId{1}, 1, 0, 0, 1}, {TrialId{2}, 1, 0, 0.5, 0.75}, {TrialId{3}, 1, 0, 0.9, 2}};
  const json events = trace(view);
  expect_sound(events);
  EXPECT_EQ(counts(events)["B"], 3U);
}

TEST(ChromeTrace, FollowsAGoalThatIsMinimised) {
  study::StudyView view = small_study();
  view.config.goals = {{false, "train_loss"}};
  std::vector<double> best;
  const json events = trace(view);
  for (const json& event : events.at("traceEvents")) {
    if (event.value("name", "") == "best train_loss") best.push_back(event.at("args").at("value"));
  }
  EXPECT_EQ(best, (std::vector<double>{0.125}));
}

TEST(ChromeTrace, DropsArrowsThenCountersThenLatestSpans) {
  const study::StudyView view = random_study(200, 5);
  const json all = trace(view);
  const std::size_t total = all.at("traceEvents").size(), arrows = counts(all)["s"], counters = counts(all)["C"];
  ASSERT_GT(arrows, 0U);

  const json without_arrows = trace(view, total - 1);
  EXPECT_EQ(without_arrows.at("traceEvents").size(), total - 2 * arrows);
  EXPECT_EQ(without_arrows.at("otherData").at("dropped").at("arrows"), arrows);
  EXPECT_EQ(without_arrows.at("otherData").at("dropped").at("counters"), 0);

  const json without_counters = trace(view, total - 2 * arrows - 1);
  EXPECT_EQ(without_counters.at("traceEvents").size(), total - 2 * arrows - counters);
  EXPECT_EQ(without_counters.at("otherData").at("dropped").at("counters"), counters);
  EXPECT_EQ(without_counters.at("otherData").at("dropped").at("spans"), 0);

  const json few = trace(view, 103);
  expect_sound(few);
  EXPECT_EQ(few.at("traceEvents").size(), 103U);
  EXPECT_EQ(few.at("otherData").at("dropped").at("spans"), view.spans.size() - 50);
  EXPECT_LE(trace(view, 1).at("traceEvents").size(), 3U);
}

TEST(ChromeTrace, IsEmptyForStudyWithoutWork) { EXPECT_EQ(trace({}).at("traceEvents").size(), 1U); }

}  // namespace
}  // namespace lanista::report
