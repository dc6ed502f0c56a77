#include "lanista/cli/status.h"

#include <gtest/gtest.h>

namespace lanista::cli {
namespace {

using study::OutcomeKind;

/// One trial under way, one paused, and one of every outcome, each with its measurement.
study::StudyView one_of_each() {
  study::StudyView view;
  for (std::uint32_t id = 1; id <= 7; ++id) {
    study::TrialView trial;
    trial.id = TrialId{id};
    trial.measurements.push_back({trial.id, 1, 30, {{"val_accuracy", 0.1 * id}}});
    trial.paused = id == 2;
    if (id > 2) trial.outcome = study::Outcome{static_cast<OutcomeKind>(id - 3), "", {}, "", {}};
    view.trials.push_back(trial);
  }
  return view;
}

TEST(Status, CountsEveryTrialOnceUnderWhatBecameOfIt) {
  const auto json = status_json("first", one_of_each());

  EXPECT_EQ(json.at("trials"), 7);
  for (const char* one : {"under_way", "paused", "stopped", "failed", "cancelled"}) EXPECT_EQ(json.at(one), 1) << one;
  EXPECT_EQ(json.at("finished"), 2);  // a duplicate has a result, too
  EXPECT_EQ(status_text("first", one_of_each()),
            "first  not ended  7 trials: 2 finished, 1 stopped, 1 failed, 1 under way, 1 paused, 1 cancelled  0:00"
            "  best val_accuracy 0.4000 (#4)  1 waits for its strategy");
}

TEST(Status, KeepsHowWorkersWereUsedBesideTheirProcesses) {
  study::StudyView view = one_of_each();
  view.spans = {{TrialId{1}, 1, 0, 0, 3}, {TrialId{3}, 1, 1, 0, 1}};
  view.workers.present = {{0, 412}, {1, 433}};

  const auto workers = status_json("first", view).at("workers");

  EXPECT_EQ(workers.at("count"), 2);
  EXPECT_EQ(workers.at("present").size(), 2U);
  EXPECT_EQ(workers.at("bound_seconds"), 3);
  EXPECT_EQ(workers.at("bounds"), nlohmann::json::parse(R"({"area": 2.0, "longest": 3.0, "dual": 3.0})"));
}

TEST(Status, TellsWhatEveryWorkerDoes) {
  study::StudyView view = one_of_each();
  view.spans = {{TrialId{1}, 1, 0, 0, 4}, {TrialId{3}, 1, 1, 0, 1}};

  EXPECT_EQ(status_json("first", view).at("workers").at("now").at(0),
            nlohmann::json::parse(R"({"worker": 0, "busy": 1.0, "trials": [1], "lanes": 1, "width": 1})"));
  const std::string text = status_text("first", view);
  EXPECT_NE(text.find("workers 2, busy 62 %, 0 % over the least time"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n  worker 0, 100 % busy: #1\n  worker 1, 25 % busy: nothing under way")) << text;
  view.end_reason = "budget";
  EXPECT_EQ(status_text("first", view).find('\n'), std::string::npos);
}

TEST(Status, TellsOfBracketsAndHowFarTheirTrialsGot) {
  study::StudyView view = one_of_each();
  EXPECT_FALSE(status_json("first", view).contains("brackets"));
  for (study::TrialView& trial : view.trials) trial.proposal.budget = 9;
  view.trials[0].rungs = {1, 3, 9};
  view.trials[1].rungs = {1};
  view.trials[2].rungs = {1, 3};

  EXPECT_EQ(status_json("first", view).at("brackets"),
            nlohmann::json::parse(R"([{"first_rung": 1, "trials": 3, "let_train_to": {"3": 2, "9": 1}},
                                      {"first_rung": 9, "trials": 4, "let_train_to": {}}])"));
  const std::string text = status_text("fi\nrst", view);
  EXPECT_TRUE(text.starts_with("fi?rst  ")) << "what others named is one line: " << text;
  EXPECT_EQ(text.substr(text.find('\n')), "\n  3 trials from epoch 1 on, 2 to 3, 1 to 9\n  4 trials from epoch 9 on");
}

TEST(Status, TellsOfSearchesInsideTrials) {
  study::StudyView view = one_of_each();
  EXPECT_FALSE(status_json("first", view).contains("searches"));
  view.trials[0].measurements[0].branches = {{0, {}, 10, "start", 2.5, false},
                                             {0, {{"lr", 0.1}}, 8, "converging", 0.125, true},
                                             {0, {{"lr", 1.0}}, 4, "diverged", 0, false}};
  EXPECT_EQ(status_json("first", view).at("searches"),
            nlohmann::json::parse(R"({"trials": 1, "count": 1, "won": 1, "branches": 2, "steps_given_up": 14})"));
  EXPECT_NE(status_text("first", view).find("  1 trial searched for settings 1 time: 2 branches, 14 steps given up"),
            std::string::npos);
}

TEST(Status, TellsOfAnEnsemble) {
  study::StudyView view = one_of_each();
  EXPECT_FALSE(status_json("first", view).contains("ensemble"));
  view.ensemble =
      study::Ensemble{{{TrialId{3}, 3}, {TrialId{4}, 1}}, {{"val_accuracy", 0.5}}, {{"test_accuracy", 0.25}}};

  const auto ensemble = status_json("first", view).at("ensemble");

  EXPECT_EQ(ensemble.at("members"),
            nlohmann::json::parse(R"([{"trial": 3, "share": 0.75}, {"trial": 4, "share": 0.25}])"));
  EXPECT_EQ(ensemble.at("validation").at("val_accuracy"), 0.5);
  EXPECT_EQ(ensemble.at("test").at("test_accuracy"), 0.25);
}

TEST(Status, NamesWorkerProcessesAndThoseThatWereLost) {
  study::StudyView view = one_of_each();
  EXPECT_FALSE(status_json("first", view).contains("workers"));
  view.workers.present = {{0, 412}, {1, 433}};
  EXPECT_NE(status_text("first", view).find("  worker processes 412 433"), std::string::npos);
  view.workers.lost = 2;
  view.workers.lost_seconds = 1.5;
  view.workers.last = study::WorkerFates::Lost{1, 420, "was killed by signal 9 (Killed)", 3, 0.5};

  const auto workers = status_json("first", view).at("workers");

  EXPECT_EQ(workers.at("present").at(1), (nlohmann::json{{"worker", 1}, {"process", 433}}));
  EXPECT_EQ(workers.at("lost"), 2);
  EXPECT_EQ(workers.at("lost_seconds"), 1.5);
  EXPECT_EQ(workers.at("last_lost").at("trials"), 3);
  EXPECT_NE(status_text("first", view).find("  2 workers lost (the last was killed by signal 9 (Killed))"),
            std::string::npos);
  view.end_reason = "budget";
  EXPECT_EQ(status_text("first", view).find("worker processes"), std::string::npos) << "they ended with it";
}

TEST(Status, SaysNothingOfPausesAndCancellationsWhereThereAreNone) {
  study::StudyView view = one_of_each();
  view.trials = {view.trials[2]};
  view.trials[0].id = TrialId{1};
  view.config.goals = {{false, "val_loss"}};
  view.trials[0].measurements[0].metrics = {{"val_loss", 383612181.8559}};
  view.end_reason = "budget";

  EXPECT_EQ(status_text("first", view),
            "first  ended (budget)  1 trials: 1 finished, 0 stopped, 0 failed, 0 under way  0:00"
            "  best val_loss 3.836e+08 (#1)");
}

}  // namespace
}  // namespace lanista::cli
