#include "lanista/app/cli/leaderboard.h"

#include <gtest/gtest.h>

namespace lanista::cli {
namespace {

engine::TrialView trial(std::uint32_t id, double accuracy, std::int64_t epoch, study::OutcomeKind kind) {
  engine::TrialView view;
  view.id = TrialId{id};
  view.parameters = 4810;
  view.measurements.push_back({TrialId{id}, epoch, epoch * 40, {{"val_accuracy", accuracy}}});
  view.outcome = study::Outcome{kind, "", {}, "", {}};
  return view;
}

engine::StudyView three_trials() {
  engine::StudyView view;
  view.trials = {trial(1, 0.9, 3, study::OutcomeKind::kStopped), trial(2, 0.97, 9, study::OutcomeKind::kSucceeded),
                 trial(3, 0.99, 1, study::OutcomeKind::kFailed)};
  view.models = {{{"name", "small-mlp"}, {"graph", ""}}, {{"name", "small-cnn"}, {"graph", ""}}};
  view.trials[1].proposal.base = 1;
  view.trials[1].proposal.steps = {{"widen", {}}, {"widen", {}}, {"add_skip", {}}};
  view.trials[1].proposal.sample = {{"optimizer", std::string("sgd")}, {"lr", 0.1034}};
  view.winner = TrialId{2};
  view.test = {{"test_accuracy", 0.9601}};
  return view;
}

TEST(Leaderboard, ShowsBestFirstAndTestOfWinnerOnly) {
  EXPECT_EQ(leaderboard(three_trials(), 10),
            " rank  trial  val_accuracy    test  params  epochs  how it was made                  trained with\n"
            "    1     #2        0.9700  0.9601    4810       9  small-cnn > widen x2 > add_skip  sgd lr 0.103\n"
            "    2     #1        0.9000            4810      3*  small-mlp\n"
            " * ended early by the stopping rule\n");
}

TEST(Leaderboard, MarksSelfTunedTrials) {
  auto view = three_trials();
  view.trials[0].proposal.is_refinement = true;
  EXPECT_NE(leaderboard(view, 10).find("small-mlp > tuned"), std::string::npos) << leaderboard(view, 10);
}

TEST(Leaderboard, ShowsBaselines) {
  auto view = three_trials();
  view.config.goals = {{true, "val_accuracy"}};
  view.baselines = {{"constant", {{"val_accuracy", 0.1034}, {"test_accuracy", 0.1}}},
                    {"linear", {{"val_loss", 0.3}}},
                    {"linear", {{"val_accuracy", 0.94}}}};
  EXPECT_EQ(baselines_text(view),
            " without a search: val_accuracy 0.1034 (test 0.1000) by the same prediction for every row, 0.9400 by a "
            "linear "
            "model\n");
  EXPECT_NE(leaderboard(view, 10).find(baselines_text(view)), std::string::npos);
  view.config.goals = {{false, "params"}};
  EXPECT_EQ(baselines_text(view), "");
}

TEST(Leaderboard, StatesThatABaselineIsNotBeaten) {
  auto view = three_trials();
  view.config.goals = {{true, "val_accuracy"}};
  view.data = {{"split_rows", {200, 100, 100}}};
  view.baselines = {{"trees", {{"val_accuracy", 0.95}}}};
  EXPECT_TRUE(baselines_text(view).ends_with(
      " by boosted trees\n boosted trees are as good as the best trial, within the noise: val_accuracy 0.9500 against "
      "0.9700\n"))
      << baselines_text(view);
  view.baselines = {{"linear", {{"val_accuracy", 0.98}}}};
  EXPECT_TRUE(baselines_text(view).ends_with(
      " by a linear model\n a linear model is better than the best trial: val_accuracy 0.9800 against 0.9700\n"))
      << baselines_text(view);
}

TEST(Leaderboard, ShowsScoreNoise) {
  auto view = three_trials();
  view.config.goals = {{true, "val_accuracy"}};
  EXPECT_EQ(noise_text(view), "") << "the number of rows is unknown";
  view.data = {{"split_rows", {200, 100, 100}}};
  EXPECT_EQ(
      noise_text(view),
      " by its 100 validation rows, the best is between 0.9155 and 0.9897 (95 %); no other trial is in this range\n");
  view.trials[0].measurements[0].metrics["val_accuracy"] = 0.92;
  EXPECT_NE(leaderboard(view, 10).find("(95 %); 1 other trial is in this range\n"), std::string::npos);
}

TEST(Leaderboard, ShowsBestEpoch) {
  auto view = three_trials();
  view.trials[1].measurements.push_back({TrialId{2}, 10, 400, {{"val_accuracy", 0.5}}});

  EXPECT_EQ(leaderboard(view, 10),
            " rank  trial  val_accuracy    test  params  epochs  how it was made                  trained with\n"
            "    1     #2        0.9700  0.9601    4810    9/10  small-cnn > widen x2 > add_skip  sgd lr 0.103\n"
            "    2     #1        0.9000            4810      3*  small-mlp\n"
            " * ended early by the stopping rule\n"
            " k/n the best of n epochs was the k-th: its weights and metrics are those of the trial\n");

  view.config.train.measured.keep = study::kKeepLast;
  EXPECT_NE(leaderboard(view, 10).find("    2     #2        0.5000  0.9601    4810      10  small-cnn"),
            std::string::npos);
}

TEST(Leaderboard, ShowsEnsembleMembersWhenRequested) {
  auto view = three_trials();
  EXPECT_EQ(ensemble_text(view), "");
  view.config.keep.ensemble = 5;
  EXPECT_EQ(ensemble_text(view), " best/ is #2 alone: no ensemble of kept trials is better on validation\n");
  view.ensemble = study::Ensemble{
      {{TrialId{2}, 2}, {TrialId{1}, 1}}, {{"val_accuracy", 0.98}}, {{"test_accuracy", 0.965}, {"test_loss", 1}}};

  const std::string text = ensemble_text(view);

  EXPECT_EQ(text, " best/ blends #2 67 %, #1 33 %: val_accuracy 0.9800 (test 0.9650); #2 alone 0.9700 (test 0.9601)\n");
  EXPECT_NE(leaderboard(view, 10).find(text), std::string::npos);
}

TEST(Leaderboard, ShowsThatBestBlendsFoldModels) {
  auto view = three_trials();
  view.config.data.folds = 2;
  EXPECT_EQ(ensemble_text(view), "") << "a study of an older build";
  const study::Proposal other = view.trials[0].proposal;
  view.trials[0].proposal = view.trials[1].proposal;
  view.ensemble = study::Ensemble{{{TrialId{2}, 1}, {TrialId{1}, 1}}, {}, {{"test_accuracy", 0.965}}};
  EXPECT_EQ(ensemble_text(view),
            " best/ blends the winner's 2 trainings #2, #1 (test 0.9650); #2 alone (test 0.9601)\n");
  view.ensemble->test.clear();
  view.test.clear();
  EXPECT_EQ(ensemble_text(view), " best/ blends the winner's 2 trainings #2, #1; #2 alone is DIR#2\n");

  view.trials[0].proposal = other;  // chosen by keep.ensemble
  view.ensemble->members[0].selections = 3;
  view.ensemble->validation = {{"val_accuracy", 0.98}};
  EXPECT_EQ(ensemble_text(view),
            " best/ blends all trainings of #2 75 %, #1 25 %: val_accuracy 0.9800; training #2 alone is DIR#2\n");
}

TEST(Leaderboard, ShowsAtMostRequestedRows) {
  const std::string table = leaderboard(three_trials(), 1);

  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 2) << table;
}

TEST(Leaderboard, MarksParetoFrontAndViolatedConstraints) {
  auto view = three_trials();
  view.config.goals = {{true, "val_accuracy"}, {false, "params"}};
  view.trials[0].measurements[0].metrics["params"] = 100;
  view.trials[1].measurements[0].metrics["params"] = 200;
  view.trials.push_back(trial(4, 0.8, 9, study::OutcomeKind::kSucceeded));
  view.trials.push_back(trial(5, 0.99, 9, study::OutcomeKind::kSucceeded));
  view.trials[3].measurements[0].metrics["params"] = 300;
  view.trials[4].measurements[0].metrics["params"] = 10;
  view.config.subject_to = {*study::Constraint::parse("val_accuracy <= 0.98")};

  const std::string table = leaderboard(view, 10);

  for (const char* line : {"  1    #2+  ", "  2    #1+  ", "  3     #4  ", "  4    #5!  "}) {
    EXPECT_NE(table.find(line), std::string::npos) << line << "\n" << table;
  }
  EXPECT_NE(table.find(" + on the Pareto front of 2\n ! breaks a constraint\n"), std::string::npos) << table;
}

TEST(Leaderboard, CountsTrialsWithAnUndefinedConstraint) {
  auto view = three_trials();
  const auto lines_with = [&](const std::string& constraint) {
    view.config.subject_to = {*study::Constraint::parse(constraint)};
    return leaderboard(view, 1);
  };
  EXPECT_NE(lines_with("val_accuracy / 0 <= 1")
                .find(" ! breaks a constraint\n the constraint val_accuracy / 0 <= 1 is "
                      "undefined for 2 of 2 trials (#"),
            std::string::npos)
      << lines_with("val_accuracy / 0 <= 1");
  EXPECT_NE(lines_with("1 / (val_accuracy - val_accuracy) <= 1").find(": it divides by 0)\n"), std::string::npos);
  EXPECT_NE(lines_with("val_f1 <= 1").find(": val_f1 is NaN)\n"), std::string::npos) << lines_with("val_f1 <= 1");
  EXPECT_EQ(lines_with("val_accuracy <= 1").find("undefined"), std::string::npos);
}

TEST(Leaderboard, ShowsMeanOverRepeats) {
  engine::StudyView view;
  view.config.strategy.repeat = 2;
  for (std::uint32_t id = 1; id <= 5; ++id) {
    view.trials.push_back(
        trial(id, std::vector{0.9, 0.7, 0.85, 0.87, 0.99}[id - 1], 9, study::OutcomeKind::kSucceeded));
    view.trials.back().proposal.sample = {{"lr", 0.1 * ((id + 1) / 2)}};
    view.trials.back().proposal.repeat = (id + 1) % 2;
  }

  const std::string table = leaderboard(view, 10);

  EXPECT_NE(table.find("1     #4  0.8600 +-0.01414"), std::string::npos) << table;
  EXPECT_NE(table.find("2     #1   0.8000 +-0.1414"), std::string::npos) << table;
  EXPECT_EQ(table.find("#5"), std::string::npos) << table;  // its second training is missing
}

TEST(Leaderboard, ShowsFoldMeanStandardErrorAndNoise) {
  engine::StudyView view;
  view.config.data.folds = 3;
  view.config.goals = {{true, "val_accuracy"}};
  for (std::uint32_t id = 1; id <= 6; ++id) {
    view.trials.push_back(
        trial(id, std::vector{0.9, 0.8, 1.0, 0.6, 0.6, 0.6}[id - 1], 9, study::OutcomeKind::kSucceeded));
    view.trials.back().proposal.sample = {{"lr", 0.1 * ((id + 2) / 3)}};
    view.trials.back().proposal.repeat = view.trials.back().proposal.fold.emplace((id + 2) % 3);
  }

  const std::string table = leaderboard(view, 10);

  EXPECT_NE(table.find("1     #3  0.9000 +-0.05774"), std::string::npos) << table;
  EXPECT_NE(table.find("2     #4    0.6000 +-0.000"), std::string::npos) << table;
  EXPECT_NE(table.find(" by the spread of its 3 trainings, the best is between 0.5072 and 1.000 (95 %); 1 other trial "
                       "is in this range\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find(" mean +- standard error over 3 folds; the trial is the best of them\n"), std::string::npos)
      << table;
}

TEST(Leaderboard, ReportsWhenNoTrialHasFinished) {
  EXPECT_EQ(leaderboard(engine::StudyView{}, 10), " no finished trial yet\n");
}

}  // namespace
}  // namespace lanista::cli
