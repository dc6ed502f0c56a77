#include "lanista/plan/goodput/fit.h"

#include <cmath>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "lanista/plan/goodput/fast_math.h"

namespace lanista::goodput {
namespace {

ThroughputModel random_model(Rng& rng) {
  return {rng.uniform(0.02, 0.3), rng.uniform(0.001, 0.02),  rng.uniform(0.1, 0.5), rng.uniform(0.001, 0.02),
          rng.uniform(0.02, 0.1), rng.uniform(0.0005, 0.01), rng.uniform(1, 4)};
}

std::vector<StepSample> samples_of(const ThroughputModel& model, std::vector<std::int64_t> replicas) {
  std::vector<StepSample> samples;
  for (const std::int64_t k : replicas) {
    for (const std::int64_t m : {8, 32, 100}) {
      const std::int64_t nodes = (k + 3) / 4;
      const double x = static_cast<double>(m);
      samples.push_back({nodes, k, m, model.accumulation_seconds(x), model.step_seconds(nodes, k, x)});
    }
  }
  return samples;
}

TEST(FastMath, MatchesTheLibraryToTwelveDigits) {
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const double x = std::exp(rng.uniform(-300, 300)), y = rng.uniform(-690, 690);
    EXPECT_NEAR(fast_log(x), std::log(x), 1e-12 * std::max(1.0, std::fabs(std::log(x))));
    EXPECT_NEAR(fast_exp(y) / std::exp(y), 1, 1e-12);
  }
  EXPECT_EQ(fast_log(1), 0);
  EXPECT_EQ(fast_exp(0), 1);
  EXPECT_EQ(fast_exp(-1e9), 0);
}

TEST(Fit, GradientMatchesFiniteDifferences) {
  Rng rng(2);
  for (int round = 0; round < 30; ++round) {
    const auto samples = samples_of(random_model(rng), {1, 2, 4, 8, 16});
    const ModelVector at = vector_of(random_model(rng));
    ModelVector gradient{};
    fit_loss(samples, at, &gradient);
    for (std::size_t i = 0; i < at.size(); ++i) {
      ModelVector up = at, down = at;
      const double h = 1e-5 * at[i];
      up[i] += h;
      down[i] -= h;
      const double slope = (fit_loss(samples, up, nullptr) - fit_loss(samples, down, nullptr)) / (2 * h);
      EXPECT_NEAR(gradient[i], slope, 1e-5 * std::max(1.0, std::fabs(slope))) << "number " << i;
    }
  }
}

TEST(Fit, PredictsUnmeasuredConfigurations) {
  Rng rng(3);
  for (int round = 0; round < 30; ++round) {
    const ThroughputModel true_costs = random_model(rng);
    const auto samples = samples_of(true_costs, {1, 2, 3, 4, 8, 16});
    const FitResult fit = fit_throughput(samples);
    for (const std::int64_t k : {1, 4, 12, 24}) {
      const double real = true_costs.step_seconds((k + 3) / 4, k, 64);
      EXPECT_NEAR(fit.model.step_seconds((k + 3) / 4, k, 64), real, 0.1 * real) << "replicas " << k;
    }
    // The loss is not above that of the true parameters, which includes the penalties of gamma and slopes.
    EXPECT_LE(fit.loss, fit_loss(samples, vector_of(true_costs), nullptr) + 1e-3);
  }
}

TEST(Fit, ChargesNothingForUnmeasuredConfigurations) {
  const ThroughputModel true_costs{0.1, 0.01, 0.3, 0.02, 0.05, 0.004, 1.5};
  const ThroughputModel one = fit_throughput(samples_of(true_costs, {1})).model;
  EXPECT_LT(one.alpha_local, 1e-7);
  EXPECT_LT(one.alpha_node, 1e-7);
  EXPECT_LT(one.beta_node, 1e-7);
  const ThroughputModel two = fit_throughput(samples_of(true_costs, {1, 2})).model;
  EXPECT_GT(two.alpha_local, 0.01);
  EXPECT_LT(two.beta_local, 1e-7);
  EXPECT_GE(two.alpha_node, 1.0999 * two.alpha_local)
      << "synchronisation across nodes costs at least as much as within one";
  const std::vector<StepSample> single{{1, 1, 32, 0.4, 0.4}};
  EXPECT_NEAR(fit_throughput(single).model.alpha_grad, 0.2, 1e-12);
}

TEST(Fit, IgnoresInvalidTimes) {
  const ThroughputModel true_costs{0.1, 0.01, 0.3, 0.02, 0.05, 0.004, 1.5};
  auto samples = samples_of(true_costs, {1, 2, 4});
  const ThroughputModel clean = fit_throughput(samples).model;
  samples.push_back({1, 1, 16, 0, 0.1});
  samples.push_back({1, 1, 16, std::nan(""), 0.1});
  samples.push_back({1, 1, 16, 0.1, INFINITY});
  EXPECT_EQ(fit_throughput(samples).model, clean);
  EXPECT_EQ(fit_throughput({}).model, ThroughputModel{});
}

}  // namespace
}  // namespace lanista::goodput
