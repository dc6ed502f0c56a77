#include "lanista/app/report/importance.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "lanista/app/report/factors.h"
#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "support/app/report/test_view.h"

namespace lanista::report {
namespace {

using space::Value;
using study::OutcomeKind;

Value text(const char* value) { return Value(std::string(value)); }

/// A space with sgd and adam, each with its learning rate, momentum for sgd alone, and a parameter without effect.
study::StudyView study_of(std::size_t trials, std::uint64_t seed) {
  study::StudyView view;
  view.config.goals = {{true, "val_accuracy"}};
  auto& params = view.config.space.params;
  const auto declare = [&](space::Parameter parameter) { LANISTA_CHECK(params.add(std::move(parameter)).ok(), ""); };
  declare({"optimizer", space::Categorical{{text("sgd"), text("adam")}}, {}});
  declare({"lr", space::FloatRange{1e-3, 1, 0, true}, {{"optimizer", {text("sgd")}}}});
  declare({"momentum", space::FloatRange{0, 0.9, 0, false}, {{"optimizer", {text("sgd")}}}});
  declare({"lr", space::FloatRange{1e-5, 1e-2, 0, true}, {{"optimizer", {text("adam")}}}});
  declare({"batch", space::IntRange{8, 64, 8, false}, {}});
  view.models = {{{"name", "mlp"}}, {{"name", "cnn"}}};
  for (std::size_t i = 0; i < trials; ++i) {
    const Rng rng = Rng(seed).split(i);
    study::TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(i + 1)};
    space::RandomChooser choose(rng);
    trial.proposal.sample = params.sample(choose);
    trial.proposal.base = static_cast<std::int64_t>(i % 2);
    trial.outcome = study::Outcome{};
    view.trials.push_back(std::move(trial));
  }
  return view;
}

void measure(study::TrialView& trial, double accuracy) {
  const auto epoch = static_cast<std::int64_t>(trial.measurements.size()) + 1;
  trial.measurements.push_back({trial.id, epoch, epoch, {{"val_accuracy", accuracy}}});
}

/// The position of a trial's learning rate in its logarithmic range.
double position_of(const study::TrialView& trial) {
  const auto& sample = trial.proposal.sample;
  const bool sgd = sample.at("optimizer") == text("sgd");
  return (std::log10(std::get<double>(sample.at("lr"))) + (sgd ? 3 : 5)) / 3;
}

const Importance::Single& single(const Importance& of, const std::string& name) {
  for (const auto& each : of.singles) {
    if (each.name == name) return each;
  }
  throw std::runtime_error("there is no " + name);
}

// Refinements change the values of their samples while they train.
TEST(Importance, ExcludesRefinementTrials) {
  study::StudyView view = study_of(60, 3);
  for (auto& trial : view.trials) measure(trial, position_of(trial));
  const auto of_search = importance_json(importance(view));
  for (std::size_t i = 0; i < 20; ++i) {
    study::TrialView final = view.trials[i];
    final.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
    final.proposal.parent = view.trials[i].id;
    final.proposal.is_refinement = true;
    final.measurements.clear();
    measure(final, -position_of(final));
    view.trials.push_back(std::move(final));
  }
  EXPECT_EQ(importance_json(importance(view)), of_search);
  for (auto& trial : view.trials) trial.proposal.is_refinement = false;
  EXPECT_NE(importance_json(importance(view)), of_search);
}

TEST(Importance, FindsImportantParameterOnLogScale) {
  study::StudyView view = study_of(400, 1);
  // The result is additive in the position, so the shares of the base and of the rest are known.
  for (auto& trial : view.trials) measure(trial, position_of(trial) + 0.2 * static_cast<double>(trial.proposal.base));

  const auto found = importance(view);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].trials, 400U);
  const double whole = 1.0 / 12 + 0.01;  // variances of a uniform position and of 0 or 0.2
  EXPECT_EQ(found[0].singles[0].name, "lr");
  EXPECT_NEAR(single(found[0], "lr").share, 1.0 / 12 / whole, 0.05);
  EXPECT_NEAR(single(found[0], "base model").share, 0.01 / whole, 0.05);
  for (const auto* name : {"optimizer", "momentum", "batch"}) EXPECT_LT(single(found[0], name).share, 0.02) << name;
  for (const auto& pair : found[0].pairs) EXPECT_LT(pair.share, 0.03) << pair.first << " " << pair.second;
  const auto& lr = single(found[0], "lr");
  EXPECT_GE(lr.best, lr.means.size() - 3);
  EXPECT_EQ(lr.labels.front().substr(lr.labels.front().size() - 14), "% of its range");
  EXPECT_EQ(single(found[0], "base model").labels, (std::vector<std::string>{"mlp", "cnn"}));
  EXPECT_GT(found[0].explained, 0.8);
}

TEST(Importance, AttributesConditionalParameterToPair) {
  study::StudyView view = study_of(500, 2);
  for (auto& trial : view.trials) {
    const auto momentum = trial.proposal.sample.find("momentum");
    measure(trial, momentum == trial.proposal.sample.end() ? 0.5 : std::get<double>(momentum->second) / 0.9);
  }

  const Importance of = importance(view)[0];

  // f = 1/2 or m: alone m has a quarter of its variance, the pair the other quarter of half of it; of 1/24, 1/48 each.
  EXPECT_NEAR(single(of, "momentum").share, 0.5, 0.08);
  EXPECT_EQ(of.pairs[0].first + " " + of.pairs[0].second, "optimizer momentum");
  EXPECT_NEAR(of.pairs[0].share, 0.5, 0.08);
  EXPECT_LT(single(of, "optimizer").share, 0.06);
}

TEST(Importance, ComparesAtEpochMeasuredByHalfOfTrials) {
  study::StudyView view = study_of(120, 3);
  for (auto& trial : view.trials) {
    const bool sgd = trial.proposal.sample.at("optimizer") == text("sgd");
    measure(trial, sgd ? 0.9 : 0.1);
    if (trial.id.value % 4 == 0) {
      trial.outcome->kind = OutcomeKind::kStopped;
      continue;
    }
    measure(trial, position_of(trial));
    if (trial.id.value % 4 == 1) measure(trial, 0.0);
  }

  const Importance of = importance(view)[0];

  EXPECT_EQ(of.epoch, 2);
  EXPECT_EQ(of.finished, 120U);
  EXPECT_EQ(of.trials, 90U);
  ASSERT_FALSE(of.singles.empty());
  EXPECT_EQ(of.singles[0].name, "lr");
}

TEST(Importance, OmitsTrialsWithoutComparableResult) {
  study::StudyView view = study_of(60, 4);
  for (auto& trial : view.trials) measure(trial, position_of(trial));
  view.trials[0].outcome.reset();
  view.trials[1].outcome->kind = OutcomeKind::kFailed;
  view.trials[2].outcome->kind = OutcomeKind::kCancelled;
  view.trials[3].outcome = study::Outcome{OutcomeKind::kDuplicate, "", TrialId{1}, "", {}};
  view.trials[4].measurements[0].metrics["val_accuracy"] = std::nan("");
  view.trials[5].measurements[0].metrics["val_accuracy"] = -std::numeric_limits<double>::infinity();
  view.trials[6].measurements[0].metrics.clear();
  view.trials[7].measurements[0].metrics["val_accuracy"] = -1e9;

  const Importance of = importance(view)[0];

  EXPECT_EQ(of.finished, 56U);
  EXPECT_EQ(of.trials, 53U);
  EXPECT_EQ(of.num_outliers, 1U);
  ASSERT_FALSE(of.singles.empty());
  EXPECT_EQ(of.singles[0].name, "lr");
  EXPECT_GT(of.singles[0].share, 0.5) << "one outlier must not dominate";
}

TEST(Importance, CountsMutationsAndChoicesInsideModels) {
  study::StudyView view = study_of(200, 5);
  for (auto& trial : view.trials) {
    const auto n = trial.id.value;
    for (std::uint32_t k = 0; k < n % 3; ++k) trial.proposal.steps.push_back({"widen", {}});
    if (n % 5 < 2) trial.proposal.sample["model.depth"] = Value(std::int64_t{n % 5 + 1});
    measure(trial, (n % 3 == 2 ? 1.0 : 0.0) + (n % 5 < 2 ? 0.0 : 1.0));
  }

  const Importance of = importance(view)[0];

  EXPECT_GT(single(of, "widen (times)").share, 0.3);
  EXPECT_EQ(single(of, "widen (times)").labels, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_GT(single(of, "depth (model)").share, 0.3);
  EXPECT_EQ(single(of, "depth (model)").labels, (std::vector<std::string>{"not used", "1", "2"}));
  EXPECT_NEAR(single(of, "depth (model)").weights[0], 0.6, 1e-9);
}

TEST(Importance, IsEmptyWhenNotComputable) {
  study::StudyView few = study_of(3, 6);
  for (auto& trial : few.trials) measure(trial, position_of(trial));
  study::StudyView equal = study_of(50, 6);
  for (auto& trial : equal.trials) measure(trial, 0.5);
  for (const auto& view : {few, equal, study::StudyView{}}) {
    const auto found = importance(view);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_TRUE(found[0].singles.empty());
    EXPECT_EQ(found[0].trials, 0U);
    EXPECT_EQ(importance_json(found)[0]["explained"], "nan");
  }
}

TEST(Importance, IsDeterministicAndMarksFewTrials) {
  const auto view = testing::random_study(18, 3);

  const auto result = importance_json(importance(view));

  EXPECT_EQ(result, importance_json(importance(view)));
  EXPECT_EQ(result[0]["few"], true);
  EXPECT_EQ(importance_json(importance(testing::random_study(300, 3)))[0]["few"], false);
}

TEST(FactorTable, CellsAreValuesOrPartsOfRange) {
  const study::StudyView view = study_of(300, 7);
  std::vector<std::size_t> trials;
  for (std::size_t i = 0; i < view.trials.size(); ++i) trials.push_back(i);

  const FactorTable table = factor_table(view, trials);

  ASSERT_EQ(table.factors.size(), 5U);
  EXPECT_EQ(table.factors[1].name, "lr");
  EXPECT_TRUE(table.factors[1].axis.when.empty()) << "every optimiser has it";
  ASSERT_EQ(table.factors[2].axis.when.size(), 1U);
  EXPECT_EQ(table.factors[2].axis.when[0].axis, 0U);
  EXPECT_EQ(table.factors[2].axis.when[0].cells, 0b01U);
  EXPECT_EQ(table.factors[3].axis.weights.size(), 8U);
  EXPECT_EQ(table.factors[3].labels.front(), "8");
  for (std::size_t row = 0; row < trials.size(); ++row) {
    const auto& sample = view.trials[row].proposal.sample;
    const auto* cells = &table.cells[row * 5];
    EXPECT_EQ(cells[0], sample.at("optimizer") == text("sgd") ? 0 : 1);
    EXPECT_EQ(cells[2] == kNoCell, !sample.contains("momentum"));
    EXPECT_EQ(cells[3], std::get<std::int64_t>(sample.at("batch")) / 8 - 1);
    EXPECT_EQ(cells[4], row % 2);
    double below = 0;
    for (std::uint8_t c = 0; c < cells[1]; ++c) below += table.factors[1].axis.weights[c];
    EXPECT_GE(position_of(view.trials[row]), below - 1e-12);
    EXPECT_LE(position_of(view.trials[row]), below + table.factors[1].axis.weights[cells[1]] + 1e-12);
  }
}

TEST(Importance, MapsMostImportantDecisions) {
  study::StudyView view = study_of(200, 11);
  for (study::TrialView& trial : view.trials) {
    const auto& sample = trial.proposal.sample;
    const double momentum = sample.contains("momentum") ? std::get<double>(sample.at("momentum")) : 0.2;
    measure(trial, position_of(trial) + (sample.at("optimizer") == text("sgd") ? momentum : 0.3));
  }

  const Importance of = importance(view).at(0);

  ASSERT_EQ(of.axes.size(), 5U);
  EXPECT_EQ(of.maps.size(), 10U);
  ASSERT_EQ(of.points.size(), 200U);
  for (std::size_t k = 0; k < of.axes.size(); ++k) EXPECT_EQ(of.axes[k].name, of.singles[k].name);
  const auto axis = [&](const std::string& name) {
    return static_cast<std::size_t>(
        std::find_if(of.axes.begin(), of.axes.end(), [&](const auto& each) { return each.name == name; }) -
        of.axes.begin());
  };
  const Importance::MapAxis &lr = of.axes[axis("lr")], &momentum = of.axes[axis("momentum")];
  ASSERT_TRUE(lr.range && momentum.range);
  EXPECT_TRUE(lr.range->is_relative) << "two ranges, one for each optimiser";
  EXPECT_FALSE(momentum.range->is_relative);
  EXPECT_EQ(momentum.range->lo, 0);
  EXPECT_EQ(momentum.range->hi, 0.9);
  for (std::size_t i = 0; i < of.points.size(); ++i) {
    const study::TrialView& trial = view.trials[of.points[i].value - 1];
    const auto& sample = trial.proposal.sample;
    EXPECT_NEAR(lr.positions[i], position_of(trial), 1e-12);
    EXPECT_EQ(std::isnan(momentum.positions[i]), !sample.contains("momentum"));
    if (sample.contains("momentum")) {
      EXPECT_NEAR(momentum.positions[i], std::get<double>(sample.at("momentum")) / 0.9, 1e-12);
    }
    EXPECT_EQ(of.values[i], trial.measurements.back().metrics.at("val_accuracy"));
  }
  // Adam has no momentum, so this pair has no prediction; all other pairs have one.
  const std::size_t first = std::min(axis("optimizer"), axis("momentum")),
                    second = std::max(axis("optimizer"), axis("momentum"));
  for (const Importance::Map& map : of.maps) {
    ASSERT_EQ(map.means.size(), of.axes[map.first].weights.size() * of.axes[map.second].weights.size());
    const std::size_t columns = of.axes[map.second].weights.size();
    for (std::size_t i = 0; i < map.means.size(); ++i) {
      const std::size_t optimizer = map.first == axis("optimizer") ? i / columns : i % columns;
      const bool empty =
          map.first == first && map.second == second && of.axes[axis("optimizer")].labels[optimizer] == "adam";
      EXPECT_EQ(std::isnan(map.means[i]), empty);
    }
  }
  const nlohmann::json result = maps_json(of);
  EXPECT_EQ(result.at("axes").size(), 5U);
  EXPECT_EQ(result.at("count"), 200);
  EXPECT_TRUE(maps_json(Importance{}).is_null());
}

}  // namespace
}  // namespace lanista::report
