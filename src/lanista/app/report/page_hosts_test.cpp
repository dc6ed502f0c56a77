#include <gtest/gtest.h>

#include "lanista/app/report/page_data.h"
#include "lanista/search/study/host_usage.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using testing::decoded;

/// Worker 0 was on node1 and then on node2, worker 1 on node2.
study::StudyView study_on_two_hosts() {
  study::StudyView view;
  view.trials.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) view.trials[i].id = TrialId{i + 1};
  view.spans = {{TrialId{1}, 1, 0, 0, 1}, {TrialId{1}, 2, 0, 1, 2}, {TrialId{1}, 3, 0, 2, 4}, {TrialId{2}, 1, 1, 0, 4}};
  view.spans[0].host = view.spans[1].host = 1;
  view.spans[2].host = view.spans[3].host = 2;
  view.workers.hosts = {{"node1", 1}, {"node2", 0}};
  view.workers.present = {{0, 8, "node2"}, {1, 9, "node2"}};
  view.workers.moves = {
      {.trial = TrialId{1}, .from = 0, .from_host = "node1", .to = 0, .to_host = "node2", .seconds = 0.5}};
  return view;
}

TEST(HostFacts, ListsHostsAndMoves) {
  const json hosts = study_facts(study_on_two_hosts(), {}).at("hosts");

  EXPECT_EQ(hosts.at("names"), (json{"node1", "node2"}));
  EXPECT_EQ(hosts.at("uses"), json::parse(R"([{"name": "node1", "present": 0, "lost": 1, "share": 0.25},
                                              {"name": "node2", "present": 2, "lost": 0, "share": 0.75}])"));
  EXPECT_EQ(hosts.at("moved"), "1 trial moved, at most 0.5 s of work lost");
  EXPECT_EQ(hosts.at("moves"),
            (json{{"1", {"from worker 0 on node1 to worker 0 on node2: at most 0.5 s of its work lost"}}}));
}

TEST(HostFacts, AreEmptyForLocalStudy) {
  study::StudyView view = study_on_two_hosts();
  view.workers = {};
  for (study::Span& span : view.spans) span.host = 0;

  EXPECT_FALSE(study_facts(view, {}).contains("hosts"));
  EXPECT_FALSE(timeline_columns(view, 100).contains("host"));
  EXPECT_EQ(timeline_columns(view, 100)["count"], 2);
}

// With several devices each is listed like a host. Its workers are threads, which never join or leave.
TEST(HostFacts, ListsDevices) {
  study::StudyView view = study_on_two_hosts();
  view.workers.present.clear();
  view.workers.moves.clear();
  view.workers.hosts = {{"cpu", 0}, {"torch:cpu", 0}};
  for (study::Span& span : view.spans) span.device = view.workers.hosts[span.host - 1].name;

  const json hosts = study_facts(view, {}).at("hosts");

  EXPECT_EQ(hosts.at("uses"), json::parse(R"([{"name": "cpu", "present": 0, "lost": 0, "share": 0.25, "device": true},
                            {"name": "torch:cpu", "present": 0, "lost": 0, "share": 0.75, "device": true}])"));
  EXPECT_TRUE(timeline_columns(view, 100).contains("host"));
  const auto uses = study::host_usage(view);
  EXPECT_EQ(study::host_text(uses.at(1), false), "torch:cpu: 75 % of the work");
  EXPECT_EQ(study::device_of(view, view.trials[0]), "torch:cpu");  // its last device
  view.trials[0].device = "cpu";
  EXPECT_EQ(study::device_of(view, view.trials[0]), "cpu");
  view.spans.clear();
  EXPECT_EQ(study::device_of(view, view.trials[1]), "");
}

TEST(HostFacts, AreBoundedForAnyLog) {
  study::StudyView view = study_on_two_hosts();
  for (int k = 0; k < 3000; ++k) view.workers.hosts.push_back({std::string(200, 'x') + std::to_string(k), 0});
  for (std::uint32_t k = 0; k < 5000; ++k) {
    for (const std::uint32_t trial : {1U, k}) {
      view.workers.moves.push_back({.trial = TrialId{trial}, .from = 0, .from_host = std::string(5000, 'y')});
    }
  }
  const json hosts = host_facts(view);
  EXPECT_EQ(hosts.at("count"), 3002);
  EXPECT_LT(hosts.dump().size(), 600'000U);
  EXPECT_EQ(hosts.at("moves").at("1").size(), 20U);
  EXPECT_EQ(hosts.at("names").at(0), "node1");
}

TEST(TimelineColumns, NameHostOfEachBar) {
  const json columns = timeline_columns(study_on_two_hosts(), 100);

  ASSERT_EQ(columns["count"], 3) << "one trial on two hosts is two bars";
  EXPECT_EQ(decoded(columns["worker"]["d"]), std::string("\0\0\1", 3));
  EXPECT_EQ(decoded(columns["host"]["d"]), std::string("\1\2\2", 3));
}

TEST(TimelineColumns, KeepHostOfJoinedShortBars) {
  study::StudyView view;
  view.trials.resize(500);
  for (std::uint32_t i = 0; i < 500; ++i) {
    view.spans.push_back({TrialId{i + 1}, 1, 0, i * 2.0, i * 2.0 + 1});
    view.spans.back().host = 2;
  }
  view.workers.hosts = {{"node1", 0}, {"node2", 0}};
  const json few = timeline_columns(view, 50);
  EXPECT_EQ(few["host"], (json{{"same", 2}}));
  for (std::size_t i = 0; i < 500; i += 2) view.spans[i].host = 1;
  EXPECT_EQ(timeline_columns(view, 50)["host"], (json{{"same", 0}})) << "a bar of several hosts has no host";
}

}  // namespace
}  // namespace lanista::report
