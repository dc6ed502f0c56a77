#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "lanista/app/report/page.h"
#include "lanista/app/report/page_data.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using testing::decoded;

TEST(CurveColumns, ThinLongCurvesAndKeepEndpoints) {
  study::StudyView view;
  study::TrialView trial;
  trial.id = TrialId{1};
  for (std::int64_t epoch = 1; epoch <= 5000; ++epoch)
    trial.measurements.push_back({trial.id, epoch, epoch, {{"loss", 1.0}}});
  view.trials = {trial};
  const std::vector<std::size_t> order{0};

  const json curves = curve_columns(view, order, 1'000'000);

  EXPECT_EQ(curves["total"], 200);
  const std::string epochs = decoded(curves["epoch"]["d"]);
  const auto at = [&](std::size_t i) {
    return static_cast<unsigned char>(epochs[2 * i]) + 256 * static_cast<unsigned char>(epochs[2 * i + 1]);
  };
  EXPECT_EQ(at(0), 1);
  EXPECT_EQ(at(199), 5000);
  EXPECT_EQ(curve_columns(view, order, 100)["count"], 0) << "100 bytes are too few";
}

TEST(SearchEntries, ContainBranchesAndResults) {
  study::StudyView view;
  view.trials.resize(3);
  for (std::uint32_t i = 0; i < 3; ++i) view.trials[i].id = TrialId{i + 1};
  const auto lr = [](double rate) { return space::Sample{{"lr", rate}}; };
  view.trials[1].measurements = {{TrialId{2},
                                  1,
                                  40,
                                  {{"train_loss", 0.5}},
                                  {{0, {}, 10, "start", 2.5, false},
                                   {0, lr(0.1), 8, "converging", 0.125, true},
                                   {0, lr(0.01), 4, "converging", 0, false},
                                   {0, lr(1), 4, "diverged", 0, false}}},
                                 {TrialId{2}, 2, 80, {{"train_loss", 0.25}}}};
  const std::vector<std::size_t> order{0, 1, 2};

  const json entries = search_entries(view, order, 100'000);

  ASSERT_EQ(entries.size(), 1U);
  const json& trial = entries["2"];
  EXPECT_EQ(trial["steps"], json::parse("[40, 80]"));
  EXPECT_EQ(trial["losses"], json::parse("[0.5, 0.25]"));
  ASSERT_EQ(trial["searches"].size(), 1U);
  const json& search = trial["searches"][0];
  EXPECT_EQ(search["start"], 2.5);
  EXPECT_EQ(search["given_up"], 18);
  EXPECT_EQ(search["branches"][0], json::parse(R"({"with": "lr=0.1", "steps": 8, "trend": "converging", "level": 1.5,
                                                   "fell": true, "kept": true})"));
  EXPECT_EQ(search["branches"][1]["level"], 2.5);
  EXPECT_FALSE(search["branches"][1]["fell"].get<bool>());
  EXPECT_TRUE(search["branches"][2]["level"].is_null());
  EXPECT_TRUE(search_entries(view, order, 100).empty()) << "100 bytes are too few";

  auto& branches = view.trials[1].measurements[0].branches;
  branches[1].kept = false;
  for (int k = 0; k < 100; ++k) branches.push_back({0, lr(0.2), 1, "converging", 0.5, k == 99});
  const json many = search_entries(view, order, 100'000)["2"]["searches"][0];
  EXPECT_EQ(many["tried"], 103);
  EXPECT_EQ(many["branches"].size(), 65U) << "the kept branch is included";
  EXPECT_TRUE(many["branches"].back()["kept"].get<bool>());
}

TEST(TimelineColumns, JoinAdjacentSpansOfTrial) {
  study::StudyView view;
  view.trials.resize(2);
  view.spans = {{TrialId{1}, 1, 0, 0, 1}, {TrialId{1}, 2, 0, 1, 2}, {TrialId{2}, 1, 0, 2, 3}, {TrialId{1}, 3, 0, 5, 6}};

  const json whole = timeline_columns(view, 100);

  EXPECT_EQ(whole["count"], 3);
  EXPECT_EQ(decoded(whole["trial"]["d"]), std::string("\1\2\1", 3));
}

TEST(TimelineColumns, ContainLanesAndHelpers) {
  study::StudyView view;
  view.trials.resize(4);
  // Two intervals of two trials that share a worker, then one of a trial on two workers.
  for (const double at : {0.0, 4.0}) {
    view.spans.push_back({TrialId{2}, 1, 0, at, at + 2, 2});
    view.spans.push_back({TrialId{1}, 1, 0, at + 2, at + 4, 2});
  }
  view.spans.push_back({TrialId{3}, 1, 1, 0, 8});
  view.spans.push_back({TrialId{4}, 1, 1, 8, 10, 1, 2});

  const json columns = timeline_columns(view, 100);

  ASSERT_EQ(columns["count"], 5);
  const auto column = [&](const char* name) { return decoded(columns[name]["d"]); };
  EXPECT_EQ(column("worker"), std::string("\0\0\0\1\1", 5));
  EXPECT_EQ(column("trial"), std::string("\1\2\4\3\4", 5));
  EXPECT_EQ(column("lanes"), std::string("\2\2\1\1\1", 5));
  EXPECT_EQ(column("place"), std::string("\0\1\0\0\0", 5));
  EXPECT_EQ(column("width"), std::string("\1\1\2\1\2", 5));
  EXPECT_EQ(column("helps"), std::string("\0\0\1\0\0", 5));
}

TEST(TimelineColumns, AreBoundedForThousandsOfEpochs) {
  study::StudyView view;
  view.trials.resize(2);
  for (std::int64_t epoch = 1; epoch <= 5000; ++epoch) {
    const double at = static_cast<double>(epoch) * 1.0001;
    view.spans.push_back({TrialId{1}, epoch, 0, at, at + 0.5, 2});
    view.spans.push_back({TrialId{2}, epoch, 0, at + 0.5, at + 1, 2});
  }
  EXPECT_EQ(timeline_columns(view, 20'000)["count"], 2);
}

TEST(StudyFacts, ContainWorkerUseAndWaits) {
  study::StudyView view;
  view.trials.resize(2);
  view.trials[0].id = TrialId{1};
  view.trials[1].id = TrialId{2};
  EXPECT_TRUE(study_facts(view, {})["work"].is_null());
  view.spans = {{TrialId{1}, 1, 0, 0, 3}, {TrialId{1}, 2, 2, 0, 4}};

  const json facts = study_facts(view, {});

  EXPECT_EQ(facts["work"]["busy"], json::parse("[3.0, 0.0, 4.0]"));
  EXPECT_EQ(facts["work"]["workers"], 2);
  EXPECT_EQ(facts["work"]["bound"], 7.0) << "the longest trial";
  EXPECT_EQ(facts["waiting"], "1 waits for a worker");
  EXPECT_TRUE(facts["waits"]["2"].get<std::string>().starts_with("begun, and no worker")) << facts["waits"];
  EXPECT_TRUE(
      facts["work"]["bounds"].get<std::string>().starts_with("all work spread evenly 3.5 s, the longest trial 7 s"));
}

TEST(TimelineColumns, NeverExceedRequestedNumber) {
  study::StudyView view;
  view.trials.resize(500);
  for (std::uint32_t i = 0; i < 500; ++i) view.spans.push_back({TrialId{i + 1}, 1, 0, i * 2.0, i * 2.0 + 1});

  const json few = timeline_columns(view, 50);

  EXPECT_LE(few["count"].get<int>(), 50);
  EXPECT_GE(few["count"].get<int>(), 1);
}

}  // namespace
}  // namespace lanista::report
