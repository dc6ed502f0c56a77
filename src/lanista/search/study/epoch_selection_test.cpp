// The selected epoch of a trial, compared with a plain search over random measurements.
#include "lanista/search/study/epoch_selection.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/search/study/study_view.h"

namespace lanista::study {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A selection rule, measurements of a trial, and the values that decide between its epochs.
struct RandomTrial {
  StudyConfig config;
  space::Sample sample;
  std::vector<Measurement> measurements;
  double most = kInfinity;  ///< val_loss times lr must not exceed it
  double lr = 1;
};

double random_value_or_nan(Rng& rng) {
  const double what = rng.uniform();
  if (what < 0.12) return kNaN;
  if (what < 0.16) return rng.bernoulli(0.5) ? kInfinity : -kInfinity;
  return static_cast<double>(rng.between(1, 5)) / 4;  // few values, many ties
}

RandomTrial random_trial(Rng rng) {
  static const std::vector<Goal> kGoals{
      {true, "val_accuracy"}, {false, "val_loss"}, {false, "params"}, {true, "flops"}};
  RandomTrial out;
  out.config.goals.clear();
  for (const Goal& goal : kGoals) {
    if (rng.bernoulli(0.5)) out.config.goals.push_back(goal);
  }
  if (out.config.goals.empty()) out.config.goals.push_back(kGoals[rng.below(kGoals.size())]);
  if (rng.bernoulli(0.5)) std::swap(out.config.goals.front(), out.config.goals.back());
  if (rng.bernoulli(0.15)) out.config.train.measured.keep = kKeepLast;
  if (rng.bernoulli(0.4)) out.config.train.measured.ties = kTiesToEarlier;
  out.lr = rng.bernoulli(0.5) ? 1 : 0.5;
  out.sample["lr"] = out.lr;
  if (rng.bernoulli(0.5)) {
    out.most = static_cast<double>(rng.between(1, 4)) / 4;
    out.config.subject_to.push_back(*Constraint::parse("val_loss * lr <= " + std::to_string(out.most)));
  }
  out.config.subject_to.push_back(*Constraint::parse("lr <= 0.1"));  // equal in all epochs
  const std::int64_t epochs = rng.between(1, 8);
  const bool has_costs = rng.bernoulli(0.5);
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    Measurement m{TrialId{1},
                  epoch,
                  10 * epoch,
                  {{"val_accuracy", random_value_or_nan(rng)}, {"val_loss", random_value_or_nan(rng)}}};
    if (std::isinf(m.metrics["val_loss"])) m.metrics["val_loss"] = 2;  // the difference of infinities is undefined
    if (has_costs) m.metrics["params"] = m.metrics["flops"] = 7;
    out.measurements.push_back(std::move(m));
  }
  return out;
}

/// Returns true if epoch a is better than epoch b.
bool is_better(const RandomTrial& of, const std::vector<Goal>& goals, const Measurement& a, const Measurement& b) {
  const auto value = [](const Measurement& m, const Goal& goal) {
    return goal.maximize ? m.metrics.at(goal.metric) : -m.metrics.at(goal.metric);  // larger is better
  };
  const double first_a = value(a, goals.front()), first_b = value(b, goals.front());
  if (std::isnan(first_a) || std::isnan(first_b)) return !std::isnan(first_a);
  const auto too_much = [&](const Measurement& m) {
    const double seen = m.metrics.at("val_loss") * of.lr;
    if (std::isinf(of.most)) return 0.0;
    return std::isnan(seen) ? kInfinity : std::max(0.0, seen - of.most);
  };
  if (too_much(a) != too_much(b)) return too_much(a) < too_much(b);
  for (const Goal& goal : goals) {
    const double in_a = value(a, goal), in_b = value(b, goal);
    if (std::isnan(in_a) && std::isnan(in_b)) continue;
    if (std::isnan(in_a) || std::isnan(in_b)) return !std::isnan(in_a);
    if (in_a != in_b) return in_a > in_b;
  }
  return false;
}

std::size_t by_hand(const RandomTrial& of, std::size_t epochs) {
  std::vector<Goal> goals;
  for (const Goal& goal : of.config.goals) {
    if (goal.metric.starts_with("val_")) goals.push_back(goal);
  }
  if (of.config.train.measured.keep == "last" || goals.empty()) return epochs - 1;
  // If the loss is a goal, a tie of it changes nothing.
  if (of.config.train.measured.ties == "loss") goals.push_back({false, "val_loss"});
  for (std::size_t i = 0; i < epochs; ++i) {
    bool is_best = !std::isnan(of.measurements[i].metrics.at(goals.front().metric));
    for (std::size_t k = 0; k < epochs && is_best; ++k) {
      is_best = !is_better(of, goals, of.measurements[k], of.measurements[i]);
    }
    if (is_best) return i;
  }
  return epochs - 1;
}

TEST(EpochSelector, SelectsBestEpoch) {
  std::size_t earlier = 0;
  for (std::uint64_t number = 0; number < 20'000; ++number) {
    SCOPED_TRACE(number);
    const RandomTrial of = random_trial(Rng(20261123).split(number));
    const EpochSelector rule(selection_rule(of.config), of.sample);
    const auto standing = selected_measurements(rule, of.measurements);
    ASSERT_EQ(standing.size(), of.measurements.size());
    EpochSelector stream = rule;
    for (std::size_t epochs = 1; epochs <= of.measurements.size(); ++epochs) {
      const std::size_t wanted = by_hand(of, epochs);
      const Measurement& last = of.measurements[epochs - 1];
      ASSERT_EQ(selected_index(rule, std::span(of.measurements).first(epochs)), wanted);
      const bool improves = stream.improves(last);
      ASSERT_EQ(improves, wanted == epochs - 1);
      ASSERT_EQ(stream.observe(last), improves);
      ASSERT_EQ(standing[epochs - 1].epoch, last.epoch);
      ASSERT_EQ(standing[epochs - 1].step, last.step);
      ASSERT_EQ(measurement_json({last.trial, 0, 0, standing[epochs - 1].metrics}),
                measurement_json({last.trial, 0, 0, of.measurements[wanted].metrics}));
    }
    earlier += by_hand(of, of.measurements.size()) + 1 < of.measurements.size() ? 1 : 0;
  }
  EXPECT_GT(earlier, 8'000U);
}

TEST(EpochSelector, SelectsNonDominatedEpoch) {
  for (std::uint64_t number = 0; number < 5'000; ++number) {
    const RandomTrial of = random_trial(Rng(7).split(number));
    if (of.config.train.measured.keep == kKeepLast || of.config.goals.size() < 2) continue;
    const Measurement& kept = of.measurements[selected_index({selection_rule(of.config), of.sample}, of.measurements)];
    if (of.config.subject_to.size() > 1) continue;
    for (const Measurement& other : of.measurements) {
      bool no_worse = true, better = false;
      for (const Goal& goal : of.config.goals) {
        if (!goal.metric.starts_with("val_")) continue;
        const double sign = goal.maximize ? 1 : -1;
        const double mine = sign * kept.metrics.at(goal.metric), its = sign * other.metrics.at(goal.metric);
        no_worse = no_worse && its >= mine;
        better = better || its > mine;
      }
      ASSERT_FALSE(no_worse && better) << number;
    }
  }
}

TEST(EpochSelector, ResetsMeasurementsAndKeepsRule) {
  EpochSelector kept({{{true, "val_accuracy"}}, {}}, {});
  EXPECT_TRUE(kept.observe({TrialId{1}, 1, 1, {{"val_accuracy", 0.9}}}));
  EXPECT_FALSE(kept.observe({TrialId{1}, 2, 2, {{"val_accuracy", 0.8}}}));
  kept.reset_measurements();
  EXPECT_TRUE(kept.observe({TrialId{2}, 1, 1, {{"val_accuracy", 0.1}}}));
}

TEST(SelectionRule, RoundTripsItsText) {
  StudyConfig config;
  config.goals = {{true, "val_accuracy"}, {false, "params"}, {false, "val_loss"}};
  config.subject_to = {*Constraint::parse("val_loss * 2 <= lr"), *Constraint::parse("params <= 50k")};
  const SelectionRule rule = selection_rule(config);
  config.goals.pop_back();
  EXPECT_EQ(selection_rule_json(selection_rule(config)), selection_rule_json(rule)) << "the loss decides ties";

  const auto read = selection_rule_from_json(nlohmann::json::parse(selection_rule_json(rule).dump()));

  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(selection_rule_json(*read), selection_rule_json(rule));
  EXPECT_EQ(selection_rule_json(rule).dump(),
            R"({"goals":[{"maximize":true,"metric":"val_accuracy"},{"maximize":false,"metric":"val_loss"}],)"
            R"("subject_to":["val_loss * 2 <= lr"]})");
  for (const char* bad : {"{}", R"({"goals":[],"subject_to":[3]})", R"({"goals":[{}],"subject_to":[]})",
                          R"({"goals":[],"subject_to":["lr <="]})", "[]", "7"}) {
    EXPECT_EQ(selection_rule_from_json(nlohmann::json::parse(bad)).error().code, Code::kDataLoss) << bad;
  }
}

TrialView trial_of(const std::vector<double>& accuracy, OutcomeKind kind, std::uint32_t id = 1) {
  TrialView trial;
  trial.id = TrialId{id};
  trial.proposal.repeat = id - 1;
  for (std::size_t i = 0; i < accuracy.size(); ++i) {
    const auto epoch = static_cast<std::int64_t>(i) + 1;
    trial.measurements.push_back({trial.id, epoch, epoch, {{"val_accuracy", accuracy[i]}}});
  }
  trial.outcome = Outcome{kind, "", {}, "", {}};
  return trial;
}

TEST(ResultOf, UsesSelectedEpochOfEndedTrial) {
  StudyConfig config;
  const std::vector<double> accuracy{0.5, 0.9, 0.7};
  for (const auto kind : {OutcomeKind::kSucceeded, OutcomeKind::kStopped}) {
    EXPECT_EQ(result_of(config, trial_of(accuracy, kind)).epoch, 2);
    EXPECT_EQ(standing(config, trial_of(accuracy, kind)).losses.front().second, -0.9);
  }
  for (const auto kind : {OutcomeKind::kFailed, OutcomeKind::kCancelled}) {
    EXPECT_EQ(result_of(config, trial_of(accuracy, kind)).epoch, 3);
  }
  config.train.measured.keep = kKeepLast;
  EXPECT_EQ(result_of(config, trial_of(accuracy, OutcomeKind::kSucceeded)).epoch, 3);
  EXPECT_EQ(standing(config, trial_of(accuracy, OutcomeKind::kSucceeded)).losses.front().second, -0.7);
}

TEST(JointRankingKey, UsesSelectedEpochsUpToLastCommonEpoch) {
  StudyConfig config;
  config.strategy.repeat = 2;
  const TrialView longer = trial_of({0.5, 0.7, 0.6, 1.0}, OutcomeKind::kSucceeded, 1);
  const TrialView shorter = trial_of({0.9, 0.1, 0.2}, OutcomeKind::kSucceeded, 2);

  const auto best = joint_ranking_key(config, {&longer, &shorter});
  ASSERT_TRUE(best);
  EXPECT_DOUBLE_EQ(best->losses.front().second, -(0.7 + 0.9) / 2);
  EXPECT_EQ(best->trial, TrialId{1}) << "alone, its result is 1.0";

  config.train.measured.keep = kKeepLast;
  const auto last = joint_ranking_key(config, {&longer, &shorter});
  ASSERT_TRUE(last);
  EXPECT_DOUBLE_EQ(last->losses.front().second, -(0.6 + 0.2) / 2);
}

}  // namespace
}  // namespace lanista::study
