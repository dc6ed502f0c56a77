#include "lanista/app/report/optuna.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lanista/app/report/facts.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using nlohmann::json;
using testing::random_study;
using testing::small_study;

std::vector<json> journal(const study::StudyView& view, double base_time = 0) {
  const std::string text = optuna_journal(view, base_time);
  std::vector<json> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    out.push_back(json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

/// The line of trial number `id`.
json trial_line(const study::StudyView& view, std::size_t id) { return journal(view).at(2 + id); }

std::string distribution(const study::StudyView& view, std::size_t id, const std::string& name) {
  return trial_line(view, id).at("distributions").at(name);
}

TEST(OptunaJournal, StartsWithStudyRecord) {
  study::StudyView view = small_study();
  view.config.goals.push_back({false, "train_loss"});
  const auto lines = journal(view);
  EXPECT_EQ(lines[0].at("op_code"), 0);
  EXPECT_EQ(lines[0].at("directions"), json::array({2, 1}));
  EXPECT_EQ(lines[0].at("study_name"), "=cmd|'/c calc'!A0 \xef\xbf\xbd </script>");
  EXPECT_EQ(lines[1].at("system_attr").at("study:metric_names"), json::array({"val_accuracy", "train_loss"}));
  EXPECT_EQ(lines[3].at("values"), json::array({0.75, 0.25}));
}

TEST(OptunaJournal, WritesOneLinePerTrial) {
  const json line = trial_line(small_study(), 1);
  EXPECT_EQ(line.at("op_code"), 4);
  EXPECT_EQ(line.at("state"), 1);
  EXPECT_EQ(line.at("values"), json::array({0.75}));
  EXPECT_EQ(line.at("intermediate_values"), (json{{"1", 0.5}, {"2", 0.75}}));
  EXPECT_EQ(line.at("datetime_start"), "1970-01-01T00:00:00.000000");
  EXPECT_EQ(line.at("datetime_complete"), "1970-01-01T00:00:01.000000");
  EXPECT_EQ(line.at("params"),
            (json{{"optimizer", 0}, {"lr", 0.25}, {"momentum", 0.5}, {"warmup_epochs", 2.0}, {"nesterov", 1}}));
  EXPECT_EQ(line.at("user_attrs").at("metrics").at("train_loss"), 0.25);
  EXPECT_EQ(line.at("user_attrs").at("rank"), 2);
  EXPECT_EQ(line.at("user_attrs").at("base"), "small-mlp");
}

TEST(OptunaJournal, GivesEveryOutcomeItsState) {
  const study::StudyView view = small_study();
  EXPECT_EQ(trial_line(view, 2).at("state"), 2);
  EXPECT_EQ(trial_line(view, 2).at("values"), json::array({0.875}));
  EXPECT_EQ(trial_line(view, 3).at("state"), 3);
  EXPECT_FALSE(trial_line(view, 3).contains("values"));
  EXPECT_TRUE(trial_line(view, 3).at("intermediate_values").empty());
  EXPECT_EQ(trial_line(view, 4).at("state"), 1);
  EXPECT_EQ(trial_line(view, 4).at("values"), json::array({0.75}));
  EXPECT_EQ(trial_line(view, 4).at("user_attrs").at("same_as"), 1);
  EXPECT_EQ(trial_line(view, 5).at("state"), 0);
  EXPECT_FALSE(trial_line(view, 5).contains("datetime_complete"));
  EXPECT_EQ(trial_line(view, 5).at("user_attrs").at("parent"), 1);
}

TEST(OptunaJournal, MarksTrialWithNonFiniteGoalAsFailed) {
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    study::StudyView view = small_study();
    for (auto& measurement : view.trials[0].measurements) measurement.metrics["val_accuracy"] = value;
    EXPECT_EQ(trial_line(view, 1).at("state"), 3);
    EXPECT_EQ(trial_line(view, 4).at("state"), 3);
  }
}

TEST(OptunaJournal, ContainsValuesOfSelectedEpoch) {
  study::StudyView view = small_study();
  view.trials[0].measurements.push_back({TrialId{1}, 3, 30, {{"train_loss", 0.125}, {"val_accuracy", 0.625}}});
  view.config.subject_to = {*study::Constraint::parse("train_loss <= 0.5")};

  const json line = trial_line(view, 1);
  EXPECT_EQ(line.at("values"), json::array({0.75}));
  EXPECT_EQ(line.at("user_attrs").at("kept_epoch"), 2);
  EXPECT_EQ(line.at("user_attrs").at("epochs"), 3);
  EXPECT_EQ(line.at("user_attrs").at("metrics").at("train_loss"), 0.25);
  EXPECT_EQ(line.at("system_attrs").at("constraints"), json::array({-0.25}));
  EXPECT_EQ(line.at("intermediate_values").at("3"), 0.625) << "the measured value";
  EXPECT_EQ(trial_line(view, 4).at("values"), json::array({0.75})) << "the values of its original";

  view.config.train.measured.keep = study::kKeepLast;
  EXPECT_EQ(trial_line(view, 1).at("values"), json::array({0.625}));
}

TEST(OptunaJournal, WritesDistributionsOfEveryKind) {
  const study::StudyView view = small_study();
  EXPECT_EQ(distribution(view, 1, "optimizer"),
            R"({"attributes":{"choices":["sgd","adam"]},"name":"CategoricalDistribution"})");
  EXPECT_EQ(distribution(view, 1, "nesterov"),
            R"({"attributes":{"choices":[false,true]},"name":"CategoricalDistribution"})");
  EXPECT_EQ(distribution(view, 1, "lr"),
            R"({"attributes":{"high":0.5,"log":true,"low":0.0001,"step":null},"name":"FloatDistribution"})");
  EXPECT_EQ(distribution(view, 1, "momentum"),
            R"({"attributes":{"high":0.95,"log":false,"low":0.0,"step":0.05},"name":"FloatDistribution"})");
  EXPECT_EQ(distribution(view, 1, "warmup_epochs"),
            R"({"attributes":{"high":6,"log":false,"low":0,"step":2},"name":"IntDistribution"})");
}

TEST(OptunaJournal, OneNameHasOneDistributionInAllTrials) {
  const study::StudyView view = random_study(200, 7);
  const std::vector<json> lines = journal(view);
  std::map<std::string, std::string> seen;
  std::map<int, int> states;
  for (std::size_t id = 1; id <= 200; ++id) {
    const json& line = lines[2 + id];
    ++states[line.at("state")];
    EXPECT_EQ(line.at("params").size(), view.trials[id - 1].proposal.sample.size());
    for (const auto& [name, text] : line.at("distributions").items()) {
      EXPECT_EQ(seen.try_emplace(name, text).first->second, text.get<std::string>());
    }
  }
  EXPECT_EQ(states.size(), 4U);
}

TEST(OptunaJournal, ContainsConstraintViolations) {
  study::StudyView view = small_study();
  EXPECT_FALSE(trial_line(view, 1).at("system_attrs").contains("constraints"));
  view.config.subject_to = {*study::Constraint::parse("val_accuracy <= 0.8"),
                            *study::Constraint::parse("train_loss >= 0.2"),
                            *study::Constraint::parse("lr <= 0.1")};  // known before training, so no trial violates it

  EXPECT_EQ(trial_line(view, 1).at("system_attrs").at("constraints"), json::array({0.75 - 0.8, 0.2 - 0.25}));
  EXPECT_EQ(trial_line(view, 2).at("system_attrs").at("constraints"), json::array({0.875 - 0.8, 0.2 - 0.125}));
  EXPECT_EQ(trial_line(view, 3).at("system_attrs").at("constraints")[0], std::numeric_limits<double>::max());
  EXPECT_EQ(trial_line(view, 4).at("system_attrs"), trial_line(view, 1).at("system_attrs"));  // its original
}

TEST(OptunaJournal, CountsTimeFromBaseTime) {
  const auto lines = journal(small_study(), 1'769'903'999.25);
  EXPECT_EQ(lines[3].at("datetime_start"), "2026-01-31T23:59:59.250000");
  EXPECT_EQ(lines[3].at("datetime_complete"), "2026-02-01T00:00:00.250000");
}

}  // namespace
}  // namespace lanista::report
