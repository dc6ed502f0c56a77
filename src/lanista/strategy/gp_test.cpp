#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/strategy/gaussian_process.h"
#include "lanista/strategy/lbfgs.h"
#include "lanista/strategy/test_support.h"

namespace lanista::strategy {
namespace {

using testing::make;
using testing::small_context;

TEST(Lbfgs, FindsTheMinimumOfRosenbrock) {
  const Differentiable f = [](const std::vector<double>& x, std::vector<double>& g) {
    const double bend = x[1] - x[0] * x[0];
    g = {-400 * x[0] * bend - 2 * (1 - x[0]), 200 * bend};
    return 100 * bend * bend + (1 - x[0]) * (1 - x[0]);
  };
  const auto x = minimize_lbfgs(f, {-1.2, 1}, 100);
  EXPECT_NEAR(x[0], 1, 1e-5);
  EXPECT_NEAR(x[1], 1, 1e-5);
}

TEST(Lbfgs, StaysWhereTheFunctionIsDefinedAndNeverGetsWorse) {
  const Differentiable f = [](const std::vector<double>& x, std::vector<double>& g) {
    g = {1 - 1 / x[0]};
    return x[0] > 0 ? x[0] - std::log(x[0]) : INFINITY;
  };
  EXPECT_NEAR(minimize_lbfgs(f, {9}, 50)[0], 1, 1e-5);
  EXPECT_EQ(minimize_lbfgs(f, {-1}, 50)[0], -1);
}

TEST(Matern52, HasTheReferenceValues) {
  EXPECT_EQ(matern52(0), 1);
  EXPECT_NEAR(matern52(1), 0.5239941, 1e-7);
  EXPECT_NEAR(matern52(0.5), 0.8286491, 1e-7);
}

TEST(LogImprovement, HasTheReferenceValuesAndIsSmoothWhereItChangesItsForm) {
  const std::vector<std::pair<double, double>> vectors{{2, 0.6973835},   {1, 0.0800262},    {0, -0.9189385},
                                                       {-1, -2.4851210}, {-5, -16.7443012}, {-30, -457.7246538}};
  for (const auto& [z, want] : vectors) EXPECT_NEAR(log_improvement(z), want, 1e-7) << z;
  EXPECT_NEAR(log_improvement(-2 - 1e-9), log_improvement(-2 + 1e-9), 1e-8);
  EXPECT_NEAR(log_improvement(-1e6), -5e11, 1e3);
}

/// Values of a smooth function of the first of two numbers and a choice.
void toy(Points& points, std::vector<double>& values, std::size_t n) {
  points.unordered = {false, false, true};
  Rng rng(4);
  for (std::size_t i = 0; i < n; ++i) {
    const double a = rng.uniform(), b = rng.uniform(), c = rng.bernoulli(0.5) ? 1 : 0;
    points.x.push_back({a, b, c});
    values.push_back(std::sin(5 * a) + 0.5 * c);
  }
}

TEST(LogPosterior, HasTheGradientThatDifferencesShow) {
  Points points;
  std::vector<double> values;
  toy(points, values, 12);
  const std::vector<double> logs{0.3, -0.5, 0.2, 0.1, -3};
  const auto at = [&](std::vector<double> x) {
    return Kernel{{std::exp(x[0]), std::exp(x[1]), std::exp(x[2])}, std::exp(x[3]), std::exp(x[4])};
  };
  std::vector<double> gradient;
  log_posterior(points, values, at(logs), &gradient);
  for (std::size_t k = 0; k < logs.size(); ++k) {
    std::vector<double> up = logs, down = logs;
    up[k] += 1e-5, down[k] -= 1e-5;
    const double slope = (log_posterior(points, values, at(up)) - log_posterior(points, values, at(down))) / 2e-5;
    EXPECT_NEAR(gradient[k], slope, 1e-5 * (1 + std::abs(slope))) << k;
  }
}

TEST(LogPosterior, OfOnePointIsTheFormula) {
  const double k = 1.5 + 0.1;
  const double likelihood = -0.5 * 4 / k - 0.5 * std::log(2 * M_PI * k);
  const double priors = -(0.1 / 2 + 0.1 * 2) + std::log(1.5) - 1.5 + 0.1 * std::log(0.1) - 30 * 0.1;
  EXPECT_NEAR(log_posterior({{{0.3}}, {false}}, {2}, {{2}, 1.5, 0.1}), likelihood + priors, 1e-12);
}

TEST(FitKernel, FindsOutWhichCoordinatesMatter) {
  Points points;
  std::vector<double> values;
  toy(points, values, 40);
  const Kernel kernel = fit_kernel(points, values);
  EXPECT_GT(kernel.weights[0], 10 * kernel.weights[1]);
  EXPECT_GE(kernel.noise, 1e-6);
  EXPECT_LT(kernel.noise, 0.01);
}

TEST(GaussianProcess, PredictsByTheClosedFormOfOnePoint) {
  const GaussianProcess process({{{0.0}}, {false}}, {{2}, {-1}}, {{1}, 1, 0.25});
  const auto seen = process.predict({1.0});
  const double k = matern52(1);
  EXPECT_NEAR(seen.means[0], k / 1.25 * 2, 1e-12);
  EXPECT_NEAR(seen.means[1], k / 1.25 * -1, 1e-12);
  EXPECT_NEAR(seen.variance, 1 - k * k / 1.25, 1e-12);
  const auto draws = process.draws({{1.0}, {5.0}}, {{0, 0}, {1, 0}});
  EXPECT_NEAR(draws[0][0], seen.means[0], 1e-9);
  EXPECT_NEAR(draws[1][0], seen.means[0] + std::sqrt(seen.variance + 0.25), 1e-6);
}

/// Lowest loss of 35 trials where the optimizer's branches have losses of their own; lr wants to be 0.1, momentum 0.5.
double lowest(const StrategyPlugin& plugin, const nlohmann::json& options, std::uint64_t seed) {
  Context context = small_context(seed, false);
  context.goals = {{false, "loss"}};
  auto strategy = make(plugin, context, options);
  double best = 1e9;
  for (std::uint32_t id = 1; id <= 35; ++id) {
    const study::Proposal proposal = strategy->suggest({1})->proposals.at(0);
    double loss = 1;
    if (proposal.sample.contains("momentum")) {
      const double lr = std::log10(std::get<double>(proposal.sample.at("lr")) / 0.1);
      const double momentum = std::get<double>(proposal.sample.at("momentum")) - 0.5;
      loss = lr * lr + momentum * momentum;
    }
    best = std::min(best, loss);
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    strategy->observe(study::Measured{{TrialId{id}, 4, 4, {{"loss", loss}}}});
    strategy->observe(study::Ended{TrialId{id}, {}});
  }
  return best;
}

TEST(Gp, BeatsRandomInAConditionalSpace) {
  int wins = 0;
  double ratio = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const double learned = lowest(gp_plugin(), {{"candidates", 64}}, seed);
    const double random = lowest(random_plugin(), Options::object(), seed);
    wins += learned < random ? 1 : 0;
    ratio += std::log10(learned / random) / 20;
  }
  EXPECT_GE(wins, 18);
  EXPECT_LT(ratio, -2);
}

TEST(Gp, SpreadsAGroupOverThePlacesThatPromise) {
  Context context = small_context(1, false);
  context.goals = {{false, "loss"}};
  context.params = {};
  ASSERT_TRUE(context.params.add({"x", space::FloatRange{0, 1, 0, false}, {}}).ok());
  auto strategy = make(gp_plugin(), context, {{"startup", 4}, {"candidates", 128}, {"fantasies", 32}});
  std::uint32_t id = 1;
  for (; id <= 4; ++id) {
    const study::Proposal proposal = strategy->suggest({1})->proposals.at(0);
    const double x = std::get<double>(proposal.sample.at("x"));
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    strategy->observe(study::Measured{{TrialId{id}, 4, 4, {{"loss", std::sin(12 * x)}}}});
    study::Outcome outcome;
    if (id == 2) outcome.kind = study::OutcomeKind::kFailed;
    strategy->observe(study::Ended{TrialId{id}, outcome});
  }
  const auto group = strategy->suggest({4});
  ASSERT_TRUE(group.ok());
  std::vector<double> places;
  for (const study::Proposal& proposal : group->proposals) places.push_back(std::get<double>(proposal.sample.at("x")));
  std::sort(places.begin(), places.end());
  EXPECT_GT(places.back() - places.front(), 0.02);
  // A group is what one gets one by one.
  for (const study::Proposal& proposal : group->proposals) {
    const auto one = strategy->suggest({1});
    EXPECT_EQ(study::proposal_json(one->proposals.at(0)), study::proposal_json(proposal));
    strategy->observe(study::Proposed{TrialId{id++}, proposal});
  }
}

}  // namespace
}  // namespace lanista::strategy
