#include "lanista/plan/goodput/goodput.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/plan/goodput/allocation.h"
#include "lanista/plan/goodput/noise_scale.h"

namespace lanista::goodput {
namespace {

TEST(Throughput, IsTheFormulaOfThePaper) {
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    const ThroughputModel model{rng.uniform(0.01, 1), rng.uniform(0, 0.1), rng.uniform(0.01, 1), rng.uniform(0, 0.1),
                                rng.uniform(0.01, 1), rng.uniform(0, 0.1), rng.uniform(1, 10)};
    const std::int64_t nodes = rng.between(1, 4), k = nodes * rng.between(1, 4), m = rng.between(1, 100),
                       s = rng.between(0, 3);
    const double x = static_cast<double>(m), extra = static_cast<double>(k - 2);
    const double grad = model.alpha_grad + model.beta_grad * x;
    double sync = nodes > 1 ? model.alpha_node + model.beta_node * extra : model.alpha_local + model.beta_local * extra;
    if (k == 1) sync = 0;
    const double step = std::pow(std::pow(grad, model.gamma) + std::pow(sync, model.gamma), 1 / model.gamma);
    const double expected = static_cast<double>(k * m * (s + 1)) / (static_cast<double>(s) * grad + step);
    EXPECT_NEAR(throughput_of(model, nodes, k, {m, s}), expected, 1e-6 * expected);
  }
}

TEST(Goodput, EfficiencyFollowsTheNoiseScale) {
  Rng rng(2);
  for (int i = 0; i < 1000; ++i) {
    const GradientStats stats{rng.uniform(0.01, 10), rng.uniform(0.01, 100)};
    const double initial = 64, scale = rng.uniform(1, 50), noise = initial * stats.var / stats.sqr;
    EXPECT_NEAR(efficiency_of(stats, scale), (noise + initial) / (noise + scale * initial), 1e-12);
    EXPECT_GE(gain_of(stats, scale), 1 - 1e-12);
    EXPECT_LE(gain_of(stats, scale), scale + 1e-12);
  }
  EXPECT_EQ(lr_factor(RateRule::kSquareRoot, {1, 1}, 16), 4);
  EXPECT_EQ(lr_factor(RateRule::kAdaScale, {0, 1}, 16), 16) << "with pure noise, a batch counts as many steps";
  EXPECT_EQ(lr_factor(RateRule::kAdaScale, {1, 0}, 16), 1) << "without noise, a larger batch has no value";
}

TEST(Goodput, BestPlanIsNearTheBestOfAll) {
  Rng rng(3);
  for (int i = 0; i < 40; ++i) {
    JobModel model;
    model.throughput = {rng.uniform(0.01, 0.2), rng.uniform(0.001, 0.01), 0.3, 0.01, 0.05, 0.001, rng.uniform(1, 3)};
    model.gradients = {1, rng.uniform(0.1, 100)};
    model.limits = {32, 2048, 8, 128};
    const std::int64_t k = rng.between(1, 8), nodes = k > 4 ? 2 : 1;
    double best = 0;
    for (std::int64_t m = 8; m <= 128; ++m) {
      for (std::int64_t s = 0; k * m * (s + 1) <= 2048; ++s) {
        const std::int64_t total = k * m * (s + 1);
        if (total < 32 || (k == 1 && s == 0 && total > 32)) continue;
        best = std::max(best, throughput_of(model.throughput, nodes, k, {m, s}) *
                                  efficiency_of(model.gradients, static_cast<double>(total) / 32));
      }
    }
    const BestPlan found = best_plan(model, nodes, k);
    // A batch that is rounded up may exceed the largest one slightly.
    EXPECT_GE(found.goodput, 0.97 * best);
    EXPECT_LE(found.goodput, 1.02 * best);
    EXPECT_GE(found.plan.total(k), 32);
    EXPECT_TRUE(k > 1 || found.plan.total(1) == 32 || found.plan.accumulations >= 1);
  }
}

TEST(Goodput, StrongScalingKeepsTheBatch) {
  JobModel model;
  model.limits = {32, 2048, 8, 128};
  model.rule = BatchRule::kFixed;
  model.fixed_batch = 512;
  EXPECT_EQ(best_plan(model, 1, 4).plan.total(4), 512);
  EXPECT_EQ(best_plan(model, 1, 2).plan, (BatchPlan{128, 1}));
  EXPECT_EQ(best_plan(model, 32, 128).goodput, 0) << "a replica would have less than its smallest batch";
}

/// Adds steps with n gradients over m samples each, of a quadratic with known gradient and noise.
GradientStats estimated(int steps, int n, double scale, std::int64_t initial, double sigma) {
  const std::vector<double> true_costs{0.5, -0.25, 1.0};
  const double m = scale * static_cast<double>(initial) / n;
  Rng rng(5);
  // The moving average would decay, so this averages the means of many short runs.
  GradientStats sum;
  constexpr int kPart = 100;
  for (int part = 0; part < steps / kPart; ++part) {
    for (int step = 0; step < kPart; ++step) {
      std::vector<double> mean(true_costs.size(), 0);
      GradientSquares norms;
      for (int i = 0; i < n; ++i) {
        for (std::size_t d = 0; d < true_costs.size(); ++d) {
          const double g = true_costs[d] + sigma * rng.normal() / std::sqrt(m);
          mean[d] += g / n;
          norms.mean_square += g * g / n;
        }
      }
      for (const double x : mean) norms.square_of_mean += x * x;
      NoiseScale one;
      EXPECT_TRUE(one.add({&norms, 1}, n, scale));
      // An estimate of one step is clamped, which would bias it. The state is not clamped.
      const NoiseScale::State state = one.state();
      sum.sqr += state.sums.front().sqr / state.weight;
      sum.var += state.sums.front().var / state.weight;
    }
  }
  return {sum.sqr / steps, sum.var / steps};
}

/// Its average decays by 0.999 a step, so it is a mean of about 2,000 steps.
TEST(NoiseScale, IsUnbiasedForAKnownQuadratic) {
  const double sigma = 2;
  for (const auto& [n, scale] : std::vector<std::pair<int, double>>{{2, 1.0}, {4, 1.0}, {8, 0.5}}) {
    Rng rng(7);
    double sqr = 0, var = 0;
    constexpr int kSamples = 100'000;
    NoiseScale estimate;
    int read = 0;
    for (int step = 0; step < kSamples; ++step) {
      const double m = scale * 64 / n;
      double mean[3] = {0, 0, 0}, squares = 0;
      for (int i = 0; i < n; ++i) {
        for (double& x : mean) {
          const double g = 0.5 + sigma * rng.normal() / std::sqrt(m);
          x += g / n;
          squares += g * g / n;
        }
      }
      const GradientSquares norms{squares, mean[0] * mean[0] + mean[1] * mean[1] + mean[2] * mean[2]};
      ASSERT_TRUE(estimate.add({&norms, 1}, n, scale));
      if (step % 1000 != 999) continue;
      sqr += estimate.total().sqr;
      var += estimate.total().var;
      ++read;
    }
    EXPECT_NEAR(sqr / read, 0.75, 0.02 * 0.75) << n << " samples";
    EXPECT_NEAR(var / read, 3 * sigma * sigma / 64, 0.02 * 3 * sigma * sigma / 64) << n << " samples";
  }
}

TEST(NoiseScale, DoesNotDependOnTheSplitOfAStep) {
  const GradientStats two = estimated(8'000, 2, 1, 64, 1), eight = estimated(8'000, 8, 1, 64, 1),
                      large = estimated(8'000, 8, 4, 64, 1);
  EXPECT_NEAR(two.var, eight.var, 0.05 * two.var);
  EXPECT_NEAR(large.var, eight.var, 0.05 * two.var);
  EXPECT_NEAR(two.sqr, eight.sqr, 0.05 * two.sqr);
}

// A step that represents others decays the average by all of them. Otherwise it decays it by its scale.
TEST(NoiseScale, DecaysByTheRepresentedSteps) {
  // |g|^2 is 1 and -1, and the noise is 1 and 5, for two gradients of scale 1.
  const GradientSquares first{3, 2}, second{9, 4};
  for (const double stands_for : {0.0, 1.0, 40.0, 1000.0}) {
    NoiseScale estimate;
    ASSERT_TRUE(estimate.add({&first, 1}, 2, 1, stands_for));
    ASSERT_TRUE(estimate.add({&second, 1}, 2, 1, stands_for));
    const double keep = std::pow(0.999, stands_for == 0 ? 1 : stands_for);
    EXPECT_NEAR(estimate.total().var, (keep * 1 + 5) / (keep + 1), 1e-9) << stands_for;
  }
}

TEST(NoiseScale, AcceptsFractionalNumbersOfGradients) {
  NoiseScale estimate;
  // The noise of a row is 12, in batches of 5 and of 2 rows. |g|^2 is 7, and the initial batch is 3.
  const GradientSquares norms{7 + 12 / 2.0, 7 + 12 / 5.0};
  ASSERT_TRUE(estimate.add({&norms, 1}, 2.5, 5 / 3.0));
  EXPECT_NEAR(estimate.total().sqr, 7, 1e-12);
  EXPECT_NEAR(estimate.total().var, 12 / 3.0, 1e-12);
}

TEST(NoiseScale, RestoresItsState) {
  NoiseScale whole(2);
  EXPECT_EQ(whole.state().sums.size(), 2U) << "before the first step";
  for (int i = 1; i < 20; ++i) {
    const std::vector<GradientSquares> norms{{3.0 * i, 2.0 / i}, {1, 0.5}};
    NoiseScale back;
    back.restore(whole.state());
    ASSERT_TRUE(whole.add(norms, 2, i));
    ASSERT_TRUE(back.add(norms, 2, i));
    EXPECT_EQ(back.total(), whole.total());
    EXPECT_EQ(back.group(1), whole.group(1));
    EXPECT_EQ(back.steps(), whole.steps());
  }
}

TEST(NoiseScale, SkipsNonFiniteNorms) {
  NoiseScale estimate;
  const GradientSquares bad{INFINITY, 1}, good{3, 2};
  EXPECT_FALSE(estimate.add({&bad, 1}, 2, 1));
  EXPECT_EQ(estimate.steps(), 0);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(estimate.add({&good, 1}, 2, 1));
  EXPECT_EQ(estimate.steps(), 20);
  EXPECT_NEAR(estimate.total().var / estimate.total().sqr, 1, 1e-9);
}

}  // namespace
}  // namespace lanista::goodput
