#include "lanista/search/math/gaussian_process.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"
#include "lanista/search/math/lbfgs.h"

namespace lanista::search {
namespace {

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

TEST(Lbfgs, NeverIncreasesAndStaysInDomain) {
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

TEST(LogImprovement, MatchesReferenceAndIsSmoothAtSwitch) {
  const std::vector<std::pair<double, double>> vectors{{2, 0.6973835},   {1, 0.0800262},    {0, -0.9189385},
                                                       {-1, -2.4851210}, {-5, -16.7443012}, {-30, -457.7246538}};
  for (const auto& [z, want] : vectors) EXPECT_NEAR(log_improvement(z), want, 1e-7) << z;
  EXPECT_NEAR(log_improvement(-2 - 1e-9), log_improvement(-2 + 1e-9), 1e-8);
  EXPECT_NEAR(log_improvement(-1e6), -5e11, 1e3);
}

TEST(LogNormalCdf, MatchesLogTailInBothForms) {
  for (double z = -36; z < 9; z += 0.25) {
    const double want = std::log(std::erfc(-z / std::sqrt(2)) / 2);
    EXPECT_NEAR(log_normal_cdf(z), want, 1e-11 * (1 + std::abs(want))) << z;
  }
  EXPECT_NEAR(log_normal_cdf(-1e6), -5e11, 1e3);
}

/// A smooth function of the first of two numbers and of a choice.
void toy(Points& points, std::vector<double>& values, std::size_t n) {
  points.unordered = {false, false, true};
  Rng rng(4);
  for (std::size_t i = 0; i < n; ++i) {
    const double a = rng.uniform(), b = rng.uniform(), c = rng.bernoulli(0.5) ? 1 : 0;
    points.x.push_back({a, b, c});
    values.push_back(std::sin(5 * a) + 0.5 * c);
  }
}

TEST(LogPosterior, MatchesNumericalGradient) {
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

TEST(LogPosterior, MatchesFormulaForOnePoint) {
  const double k = 1.5 + 0.1;
  const double likelihood = -0.5 * 4 / k - 0.5 * std::log(2 * M_PI * k);
  const double priors = -(0.1 / 2 + 0.1 * 2) + std::log(1.5) - 1.5 + 0.1 * std::log(0.1) - 30 * 0.1;
  EXPECT_NEAR(log_posterior({{{0.3}}, {false}}, {2}, {{2}, 1.5, 0.1}), likelihood + priors, 1e-12);
}

TEST(FitKernel, LearnsWhichCoordinatesMatter) {
  Points points;
  std::vector<double> values;
  toy(points, values, 40);
  const Kernel kernel = fit_kernel(points, values);
  EXPECT_GT(kernel.weights[0], 10 * kernel.weights[1]);
  EXPECT_GE(kernel.noise, 1e-6);
  EXPECT_LT(kernel.noise, 0.01);
}

TEST(GaussianProcess, MatchesClosedFormForOnePoint) {
  const GaussianProcess process({{{0.0}}, {false}}, {{2}, {-1}}, {{1}, 1, 0.25});
  const auto seen = process.predict({1.0});
  const double k = matern52(1);
  EXPECT_NEAR(seen.means[0], k / 1.25 * 2, 1e-12);
  EXPECT_NEAR(seen.means[1], k / 1.25 * -1, 1e-12);
  EXPECT_NEAR(seen.variance, 1 - k * k / 1.25, 1e-12);
  const auto joint_samples = process.joint_samples({{1.0}, {5.0}}, {{0, 0}, {1, 0}});
  EXPECT_NEAR(joint_samples[0][0], seen.means[0], 1e-9);
  EXPECT_NEAR(joint_samples[1][0], seen.means[0] + std::sqrt(seen.variance + 0.25), 1e-6);
}

TEST(FitKernel, KeepsInitialKernelOnEqualValues) {
  Points points;
  std::vector<double> values;
  toy(points, values, 20);
  const Kernel kernel = fit_kernel(points, std::vector<double>(20, 0));
  for (const double weight : kernel.weights) EXPECT_EQ(weight, 1);
  EXPECT_EQ(kernel.variance, 1);
}

TEST(GaussianProcess, AcceptsPointsWithSingularMatrix) {
  Rng rng(6);
  for (const double spread : {0.0, 1e-16, 1e-12, 1e-9, 1e-6}) {
    Points points;
    points.unordered = {false, false};
    std::vector<double> values;
    for (int i = 0; i < 500; ++i) {
      points.x.push_back({0.3 + spread * rng.uniform(), 0.6 + spread * rng.uniform()});
      values.push_back(i % 2 == 0 ? 1.5 : 2.5);
    }
    // Without noise, or with noise below the rounding error of the variance, the matrix is not positive definite.
    for (const Kernel& kernel : {Kernel{{1, 1}, 1, 0}, Kernel{{1e8, 1e-8}, 1e6, 1e-16}}) {
      const GaussianProcess process(points, {values}, kernel);
      const auto here = process.predict({0.3, 0.6});
      EXPECT_NEAR(here.means[0], 2, 0.5) << spread;
      EXPECT_GT(here.variance, 0);
      EXPECT_LT(here.variance, 0.01 * kernel.variance);
      const std::vector<std::vector<double>> twice{{0.3, 0.6}, {0.3, 0.6}};
      const auto joint_samples = process.joint_samples(twice, {{1, 1}});
      for (const double sample : joint_samples[0]) EXPECT_TRUE(std::isfinite(sample));
    }
  }
}

TEST(GaussianProcess, AcceptsValuesThatJitterCannotFix) {
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(HUGE_VAL)}) {
    const GaussianProcess process({{{0}, {bad}, {1}}, {false}}, {{1, 2, 3}}, {{1}, 1, 0.1});
    EXPECT_EQ(process.predict({0.5}).means.size(), 1U);
    const GaussianProcess absurd({{{0}, {1}}, {false}, {-5, -5}}, {{1, 2}}, {{1}, 1, 0.1});
    EXPECT_TRUE(std::isfinite(absurd.predict({0.5}).means[0]));
    const GaussianProcess wide({{{0}, {1}}, {false}}, {{1, 2}}, {{1}, bad, 0.1});
    EXPECT_EQ(wide.predict({0.5}).means.size(), 1U);
  }
}

TEST(GaussianProcess, WeightsUncertainValuesLess) {
  const Kernel kernel{{1}, 1, 0.25};
  const GaussianProcess sure({{{0.0}}, {false}}, {{2}}, kernel), unsure({{{0.0}}, {false}, {0.75}}, {{2}}, kernel);
  EXPECT_NEAR(sure.predict({0}).means[0], 2 / 1.25, 1e-12);
  EXPECT_NEAR(unsure.predict({0}).means[0], 2 / 2.0, 1e-12);
}

}  // namespace
}  // namespace lanista::search
