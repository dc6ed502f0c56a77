#include "lanista/app/cli/status.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanista::cli {
namespace {

using study::OutcomeKind;

/// One trial under way, one paused, and one of every outcome, each with its measurement.
study::StudyView study_with_each_outcome() {
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

TEST(Status, CountsEachTrialOnceByState) {
  const auto json = status_json("first", study_with_each_outcome());

  EXPECT_EQ(json.at("trials"), 7);
  for (const char* one : {"under_way", "paused", "stopped", "failed", "cancelled"}) EXPECT_EQ(json.at(one), 1) << one;
  EXPECT_EQ(json.at("finished"), 2);  // a duplicate has a result, too
  EXPECT_EQ(status_text("first", study_with_each_outcome()),
            "first  not ended  7 trials: 2 finished, 1 stopped, 1 failed, 1 under way, 1 paused, 1 cancelled  0:00"
            "  best val_accuracy 0.4000 (#4)  1 waits for its strategy");
}

TEST(Status, ShowsWorkerUseAndProcesses) {
  study::StudyView view = study_with_each_outcome();
  view.spans = {{TrialId{1}, 1, 0, 0, 3}, {TrialId{3}, 1, 1, 0, 1}};
  view.workers.present = {{0, 412}, {1, 433}};

  const auto workers = status_json("first", view).at("workers");

  EXPECT_EQ(workers.at("count"), 2);
  EXPECT_EQ(workers.at("present").size(), 2U);
  EXPECT_EQ(workers.at("bound_seconds"), 3);
  EXPECT_EQ(workers.at("bounds"), nlohmann::json::parse(R"({"area": 2.0, "longest": 3.0, "dual": 3.0})"));
}

TEST(Status, ShowsWorkOfEachWorker) {
  study::StudyView view = study_with_each_outcome();
  view.spans = {{TrialId{1}, 1, 0, 0, 4}, {TrialId{3}, 1, 1, 0, 1}};

  EXPECT_EQ(status_json("first", view).at("workers").at("now").at(0),
            nlohmann::json::parse(R"({"worker": 0, "busy": 1.0, "trials": [1], "lanes": 1, "width": 1})"));
  const std::string text = status_text("first", view);
  EXPECT_NE(text.find("workers 2, busy 62 %, 0 % over the least time"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\n  worker 0, 100 % busy: #1\n  worker 1, 25 % busy: nothing under way")) << text;
  view.end_reason = "budget";
  EXPECT_EQ(status_text("first", view).find('\n'), std::string::npos);
}

TEST(Status, ShowsProgressOfBrackets) {
  study::StudyView view = study_with_each_outcome();
  EXPECT_FALSE(status_json("first", view).contains("brackets"));
  for (study::TrialView& trial : view.trials) trial.proposal.budget = 9;
  view.trials[0].rungs = {1, 3, 9};
  view.trials[1].rungs = {1};
  view.trials[2].rungs = {1, 3};

  EXPECT_EQ(status_json("first", view).at("brackets"),
            nlohmann::json::parse(R"([{"first_rung": 1, "trials": 3, "let_train_to": {"3": 2, "9": 1}},
                                      {"first_rung": 9, "trials": 4, "let_train_to": {}}])"));
  const std::string text = status_text("fi\nrst", view);
  EXPECT_TRUE(text.starts_with("fi?rst  ")) << "a stored name is printed on one line: " << text;
  EXPECT_EQ(text.substr(text.find('\n')), "\n  3 trials from epoch 1 on, 2 to 3, 1 to 9\n  4 trials from epoch 9 on");
}

TEST(Status, ShowsSearchesInsideTrials) {
  study::StudyView view = study_with_each_outcome();
  EXPECT_FALSE(status_json("first", view).contains("searches"));
  view.trials[0].measurements[0].branches = {{0, {}, 10, "start", 2.5, false},
                                             {0, {{"lr", 0.1}}, 8, "converging", 0.125, true},
                                             {0, {{"lr", 1.0}}, 4, "diverged", 0, false}};
  EXPECT_EQ(status_json("first", view).at("searches"),
            nlohmann::json::parse(R"({"trials": 1, "count": 1, "won": 1, "branches": 2, "steps_given_up": 14})"));
  EXPECT_NE(status_text("first", view).find("  1 trial searched for settings 1 time: 2 branches, 14 steps given up"),
            std::string::npos);
}

TEST(Status, ShowsEnsemble) {
  study::StudyView view = study_with_each_outcome();
  EXPECT_FALSE(status_json("first", view).contains("ensemble"));
  view.ensemble =
      study::Ensemble{{{TrialId{3}, 3}, {TrialId{4}, 1}}, {{"val_accuracy", 0.5}}, {{"test_accuracy", 0.25}}};

  const auto ensemble = status_json("first", view).at("ensemble");

  EXPECT_EQ(ensemble.at("members"),
            nlohmann::json::parse(R"([{"trial": 3, "share": 0.75}, {"trial": 4, "share": 0.25}])"));
  EXPECT_EQ(ensemble.at("validation").at("val_accuracy"), 0.5);
  EXPECT_EQ(ensemble.at("test").at("test_accuracy"), 0.25);
}

TEST(Status, ListsLiveAndLostWorkerProcesses) {
  study::StudyView view = study_with_each_outcome();
  EXPECT_FALSE(status_json("first", view).contains("workers"));
  view.workers.present = {{0, 412}, {1, 433}};
  EXPECT_NE(status_text("first", view).find("  worker processes 412 433"), std::string::npos);
  view.workers.lost = 2;
  view.workers.lost_seconds = 1.5;
  view.workers.last = study::WorkerHistory::Lost{1, 420, "was killed by signal 9 (Killed)", 3, 0.5};

  const auto workers = status_json("first", view).at("workers");

  EXPECT_EQ(workers.at("present").at(1), (nlohmann::json{{"worker", 1}, {"process", 433}}));
  EXPECT_EQ(workers.at("lost"), 2);
  EXPECT_EQ(workers.at("lost_seconds"), 1.5);
  EXPECT_EQ(workers.at("last_lost").at("trials"), 3);
  EXPECT_NE(status_text("first", view).find("  2 workers lost (the last was killed by signal 9 (Killed))"),
            std::string::npos);
  view.end_reason = "budget";
  EXPECT_EQ(status_text("first", view).find("worker processes"), std::string::npos) << "the study has ended";
}

/// A study with worker 0 on node1 and a lost worker 1 on node2, which moved trial 1.
study::StudyView study_on_two_hosts() {
  study::StudyView view = study_with_each_outcome();
  view.spans = {{TrialId{1}, 1, 1, 0, 1}, {TrialId{1}, 1, 0, 1, 4}};
  view.spans[0].host = 2;
  view.spans[1].host = 1;
  view.workers.hosts = {{"node1", 0}, {"node2", 1}};
  view.workers.present = {{0, 412, "node1"}};
  view.workers.lost = 1;
  view.workers.lost_seconds = 0.5;
  view.workers.last = study::WorkerHistory::Lost{1, 420, "(slurm) was killed by signal 9 (Killed)", 1, 0.5, "node2"};
  view.workers.moves = {
      {.trial = TrialId{1}, .from = 1, .from_host = "node2", .to = 0, .to_host = "node1", .seconds = 0.5}};
  return view;
}

TEST(Status, ShowsHostsAndCostOfMoves) {
  study::StudyView view = study_on_two_hosts();

  const auto workers = status_json("first", view).at("workers");

  EXPECT_EQ(workers.at("hosts"), nlohmann::json::parse(R"([
    {"host": "node1", "present": 1, "lost": 0, "share": 0.75},
    {"host": "node2", "present": 0, "lost": 1, "share": 0.25}])"));
  EXPECT_EQ(workers.at("present"), nlohmann::json::parse(R"([{"worker": 0, "process": 412, "host": "node1"}])"));
  EXPECT_EQ(workers.at("now").at(0).at("host"), "node1");
  EXPECT_EQ(workers.at("now").at(1).at("host"), "node2");
  EXPECT_EQ(workers.at("last_lost").at("host"), "node2");
  EXPECT_EQ(workers.at("moves"), nlohmann::json::parse(R"({"count": 1, "trials": 1, "seconds": 0.5})"));
  const std::string text = status_text("first", view);
  EXPECT_NE(text.find("  1 worker lost (the last on node2 (slurm) was killed by signal 9 (Killed))"
                      "  1 trial moved, at most 0.5 s of work lost\n"),
            std::string::npos)
      << text;
  EXPECT_TRUE(
      text.ends_with("\n  node1: 1 worker, 75 % of the work"
                     "\n  node2: 0 workers, 25 % of the work, 1 worker lost"
                     "\n  worker 0 on node1, 75 % busy: #1"
                     "\n  worker 1 on node2, 25 % busy: nothing under way"))
      << text;
  view.end_reason = "budget";
  const std::string ended = status_text("first", view);
  EXPECT_TRUE(ended.ends_with("\n  node1: 75 % of the work\n  node2: 25 % of the work, 1 worker lost")) << ended;
}

// Trial 1 trained for 2 s, waited 300 s for another worker, and trained for 2 s again.
TEST(Status, LeavesOutTimeWithoutWorker) {
  study::StudyView view = study_on_two_hosts();
  view.spans = {{TrialId{1}, 1, 1, 0, 2}, {TrialId{1}, 2, 0, 302, 304}};

  const auto workers = status_json("first", view).at("workers");

  EXPECT_EQ(workers.at("gap"), 0);
  EXPECT_EQ(workers.at("waited_seconds"), 300);
  const std::string text = status_text("first", view);
  EXPECT_NE(text.find(", 0 % over the least time, which leaves out 5:00 in which no worker made progress"),
            std::string::npos)
      << text;

  view.workers.lost = 0;  // workers that are present but have nothing to do count
  EXPECT_EQ(status_json("first", view).at("workers").at("gap"), 75);
  EXPECT_FALSE(status_json("first", view).at("workers").contains("waited_seconds"));
  EXPECT_EQ(status_text("first", view).find("leaves out"), std::string::npos);
}

TEST(Status, ShowsFirstHostsAndTheirNumber) {
  study::StudyView view = study_on_two_hosts();
  for (int k = 3; k <= 12; ++k) view.workers.hosts.push_back({"node" + std::to_string(k), 0});
  const std::string text = status_text("first", view);
  EXPECT_NE(text.find("\n  and 4 more hosts\n  worker 0"), std::string::npos) << text;
  EXPECT_EQ(status_json("first", view).at("workers").at("hosts").size(), 12U);
}

// A view that was not read from a log may hold anything.
TEST(Status, PrintsHostNameOnOneLine) {
  study::StudyView view = study_on_two_hosts();
  view.workers.hosts[0].name = view.workers.present[0].host = "a\n\x1b[2J";
  const std::string text = status_text("first", view);
  EXPECT_EQ(std::ranges::count(text, '\n'), 4) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(Status, ShowsNoHostWhenWorkersAreLocal) {
  study::StudyView view = study_on_two_hosts();
  view.workers.hosts.clear();
  view.workers.moves.clear();
  view.workers.present[0].host.clear();
  view.workers.last->host.clear();
  for (study::Span& span : view.spans) span.host = 0;
  EXPECT_EQ(status_json("first", view).dump().find("host"), std::string::npos);
  EXPECT_FALSE(status_json("first", view).at("workers").contains("moves"));
  EXPECT_NE(status_text("first", view).find("(the last (slurm) was killed"), std::string::npos);
}

TEST(Status, OmitsPausesAndCancellationsWhenNone) {
  study::StudyView view = study_with_each_outcome();
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
