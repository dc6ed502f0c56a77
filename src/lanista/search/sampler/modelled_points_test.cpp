#include "lanista/search/sampler/modelled_points.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"

namespace lanista::search {
namespace {

/// Returns a trial with the losses of its epochs 1, 2, ...; without losses it failed. Excesses are ten times as large.
ModelledTrial seen(std::uint32_t id, const std::vector<double>& losses, bool constrained = false) {
  ModelledTrial out;
  out.x = {static_cast<double>(id)};
  out.trial.trial = TrialId{id};
  std::int64_t epoch = 0;
  for (const double loss : losses) {
    if (epoch > 0) out.trial.earlier_epochs.push_back({epoch, out.trial.losses, 0});
    ++epoch;
    out.trial.losses = {loss};
    out.trial.epoch = epoch;
    if (constrained) out.excesses[epoch] = {10 * loss};
  }
  return out;
}

TEST(ModelledPoints, UsesMeasuredLossesWithoutStopping) {
  const EvaluatedPoints out = points_of_modelled_epoch(
      std::vector<ModelledTrial>{seen(1, {9, 3}), seen(2, {}), seen(3, {1, 4})}, {false}, 2, 10);
  EXPECT_EQ(out.points.x, (std::vector<std::vector<double>>{{1}, {2}, {3}}));
  EXPECT_EQ(out.losses[0], 3);
  EXPECT_TRUE(std::isnan(out.losses[1]));
  EXPECT_EQ(out.losses[2], 4);
  EXPECT_EQ(out.measured, (std::vector<bool>{true, true, true}));
  EXPECT_TRUE(out.feasible(0));
  EXPECT_FALSE(out.feasible(1));
}

TEST(ModelledPoints, EstimatesLossOfStoppedTrial) {
  // The later value is 2 earlier - 1, plus d, -d, -d, d in the order of x.
  const double d = 0.1;
  std::vector<ModelledTrial> trials{seen(1, {1, 1 + d}, true), seen(2, {2, 3 - d}, true), seen(3, {3, 5 - d}, true),
                                    seen(4, {4, 7 + d}, true), seen(5, {6}, true)};
  const EvaluatedPoints out = points_of_modelled_epoch(trials, {false}, 4, 10);
  ASSERT_EQ(out.losses.size(), 5U);
  EXPECT_NEAR(out.losses[4], 11, 1e-12);
  EXPECT_NEAR(out.uncertainty[4], 4 * d * d / 2, 1e-12);
  EXPECT_NEAR(out.excesses[0][4], 110, 1e-11);
  EXPECT_NEAR(out.excess_uncertainty[0][4], 400 * d * d / 2, 1e-10);
  EXPECT_FALSE(out.measured[4]);
  EXPECT_EQ(out.uncertainty[0], 0);
  trials.erase(trials.begin(), trials.begin() + 2);
  EXPECT_EQ(points_of_modelled_epoch(trials, {false}, 2, 10).losses,
            (std::vector<double>{5 - d, 7 + d}));  // Two points give no line.
}

TEST(ModelledPoints, IsInvariantToScaleOfEarlierEpoch) {
  Rng rng(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<ModelledTrial> plain, bent;
    const double scale = rng.uniform(0.1, 10), shift = rng.uniform(-100, 100);
    for (std::uint32_t id = 1; id <= 30; ++id) {
      const double early = rng.normal(), late = early + 0.3 * rng.normal();
      const bool stopped = id > 6 && rng.bernoulli(0.6);
      plain.push_back(seen(id, stopped ? std::vector<double>{early} : std::vector<double>{early, late}));
      const double other = scale * early + shift;
      bent.push_back(seen(id, stopped ? std::vector<double>{other} : std::vector<double>{other, late}));
    }
    const EvaluatedPoints a = points_of_modelled_epoch(plain, {false}, 5, 100),
                          b = points_of_modelled_epoch(bent, {false}, 5, 100);
    ASSERT_EQ(a.losses.size(), 30U);
    ASSERT_EQ(b.losses.size(), 30U);
    for (std::size_t i = 0; i < 30; ++i) {
      EXPECT_NEAR(a.losses[i], b.losses[i], 1e-9);
      EXPECT_NEAR(a.uncertainty[i], b.uncertainty[i], 1e-9);
    }
  }
}

TEST(ModelledPoints, KeepsIncumbentAndPrefersMeasuredPoints) {
  std::vector<ModelledTrial> trials{seen(1, {5, 5}), seen(2, {0, 0})};
  for (std::uint32_t id = 3; id <= 8; ++id) trials.push_back(seen(id, {5.0 + id, 5.0 + id}));
  for (std::uint32_t id = 9; id <= 20; ++id) trials.push_back(seen(id, {1.0 + id}));
  const EvaluatedPoints out = points_of_modelled_epoch(trials, {false}, 3, 5);
  EXPECT_EQ(out.points.x, (std::vector<std::vector<double>>{{2}, {5}, {6}, {7}, {8}}));
}

TEST(ModelledPoints, AcceptsOnlyFailedTrials) {
  const EvaluatedPoints out =
      points_of_modelled_epoch(std::vector<ModelledTrial>{seen(1, {}), seen(2, {})}, {false}, 2, 10);
  ASSERT_EQ(out.losses.size(), 2U);
  EXPECT_TRUE(std::isnan(out.losses[0]));
}

}  // namespace
}  // namespace lanista::search
