#include "lanista/search/math/improvement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "lanista/base/rng.h"

namespace lanista::search {
namespace {

using Point = std::vector<double>;

EvaluatedPoints known(std::vector<Point> x, std::vector<double> losses,
                      std::vector<std::vector<double>> excesses = {}) {
  EvaluatedPoints out;
  const std::size_t n = x.size(), d = x[0].size();
  out.points = {std::move(x), std::vector<bool>(d, false)};
  out.losses = std::move(losses);
  out.excesses = std::move(excesses);
  out.measured.assign(n, true);
  return out;
}

/// Returns mean and variance at `x`, by hand, of a process with the values `a` at 0 and `b` at 1.
std::pair<double, double> of_two_points(double a, double b, const Kernel& kernel, double x) {
  const auto k = [&](double distance) {
    const double t = std::sqrt(5 * kernel.weights[0]) * std::abs(distance);
    return kernel.variance * (1 + t + t * t / 3) * std::exp(-t);
  };
  const double own = kernel.variance + kernel.noise, other = k(1), det = own * own - other * other;
  const double p = k(x), q = k(x - 1);
  const double mean = (p * (own * a - other * b) + q * (own * b - other * a)) / det;
  return {mean, kernel.variance - (p * (own * p - other * q) + q * (own * q - other * p)) / det};
}

/// Returns the integral of f(y) under a normal density.
double expected(const std::function<double(double)>& f, double mean, double variance) {
  double sum = 0;
  const double step = 1e-3;
  for (double z = -9; z < 9; z += step) {
    const double middle = z + step / 2;
    sum += step * f(mean + std::sqrt(variance) * middle) * std::exp(-middle * middle / 2) / std::sqrt(2 * M_PI);
  }
  return sum;
}

TEST(Improvement, MatchesIntegralTimesFeasibility) {
  Rng rng(1);
  for (int round = 0; round < 20; ++round) {
    const double x = rng.uniform(-0.5, 1.5);
    const Kernel loss{{rng.uniform(0.2, 3)}, rng.uniform(0.5, 2), 0.1};
    const Kernel excess{{rng.uniform(0.2, 3)}, rng.uniform(0.5, 2), 0.2};
    // Standardised, the losses are 1 and -1. The excesses -3 and 1 become -1 and 1, and 0 becomes 0.5.
    const EvaluatedPoints two = known({{0}, {1}}, {30, 10}, {{-3, 1}});

    const double score = Improvement(two, {loss, {excess}}, {}, 1).score({x});

    const auto [mean, variance] = of_two_points(1, -1, loss, x);
    const auto [mean_excess, variance_excess] = of_two_points(-1, 1, excess, x);
    const double gain = expected([](double y) { return std::max(0.0, 1 - y); }, mean, variance);  // 30 is feasible.
    const double kept = expected([](double y) { return y <= 0.5 ? 1.0 : 0.0; }, mean_excess, variance_excess);
    EXPECT_NEAR(score, std::log(gain * kept), 2e-3);
  }
}

TEST(Improvement, IsFeasibilityProbabilityBeforeAnyFeasible) {
  const Kernel kernel{{1}, 1, 0.1};
  const auto score = [&](std::vector<double> losses, double x) {
    const EvaluatedPoints two = known({{0}, {1}}, std::move(losses), {{0.2, 2}});
    return Improvement(two, {kernel, {kernel}}, {}, 1).score({x});
  };
  for (const double x : {-0.5, 0.2, 0.5}) {
    const auto [mean, variance] = of_two_points(-1, 1, kernel, x);
    const double kept = expected([](double y) { return y <= -1.1 / 0.9 ? 1.0 : 0.0; }, mean, variance);
    EXPECT_NEAR(score({5, 1}, x), std::log(kept), 5e-3);
    EXPECT_EQ(score({5, 1}, x), score({1, 5}, x));
  }
}

TEST(Improvement, ExcludesFailedAndEstimatedIncumbents) {
  EvaluatedPoints three = known({{0}, {0.5}, {1}}, {3, 1, 2});
  EXPECT_TRUE(three.feasible(1));
  three.measured[1] = false;
  EXPECT_FALSE(three.feasible(1));
  three.losses[2] = NAN;
  EXPECT_FALSE(three.feasible(2));
  EXPECT_TRUE(three.feasible(0));
}

TEST(Improvement, DecreasesNearPendingTrial) {
  const Kernel kernel{{20}, 1, 0.001};
  const std::vector<Point> x{{0}, {0.35}, {1}};
  for (const std::vector<double>& excess : {std::vector<double>{-1, -1, -1}, std::vector<double>{1, 3, 3}}) {
    const EvaluatedPoints three = known(x, {1, 0, 1}, {excess});
    const Point place{excess[0] < 0 ? 0.5 : -0.1};
    const Improvement alone(three, {kernel, {kernel}}, {}, 16);
    const Improvement with_pending(three, {kernel, {kernel}}, {place}, 16);
    EXPECT_LT(with_pending.score(place), alone.score(place) - 0.1);
    EXPECT_NEAR(with_pending.score({3}), alone.score({3}), 0.5);
  }
}

TEST(Improvement, AssumesPendingInfeasibleBeforeAnyFeasible) {
  const Kernel kernel{{20}, 1, 0.001};
  EvaluatedPoints three = known({{0}, {0.35}, {1}}, {1, 0, 1}, {{1, -2, 1}});
  three.measured[1] = false;  // It is estimated to be feasible.
  const Improvement alone(three, {kernel, {kernel}}, {}, 16);
  const Improvement with_pending(three, {kernel, {kernel}}, {{0.4}}, 16);
  EXPECT_LT(with_pending.score({0.4}), alone.score({0.4}) - 0.2);
}

TEST(Improvement, StaysFiniteAndOrderedForExtremeInputs) {
  Rng rng(8);
  std::vector<Point> far, near, same;
  std::vector<double> losses, with_nan;
  for (int i = 0; i < 60; ++i) {
    far.push_back({rng.uniform(), rng.uniform()});
    losses.push_back(rng.normal());
    with_nan.push_back(i % 7 == 0 ? NAN : i % 11 == 0 ? HUGE_VAL : losses.back());
  }
  for (int i = 0; i < 500; ++i) near.push_back({0.5 + 1e-9 * rng.uniform(), 0.5}), same.push_back({0.25, 0.75});
  const auto repeated = [](const std::vector<double>& values, std::size_t n) {
    std::vector<double> out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(values[i % values.size()]);
    return out;
  };
  std::vector<EvaluatedPoints> cases{known(far, losses),
                                     known(far, with_nan),
                                     known(far, std::vector<double>(60, 4)),
                                     known(far, std::vector<double>(60, NAN), {std::vector<double>(60, NAN)}),
                                     known(far, losses, {std::vector<double>(60, HUGE_VAL)}),
                                     known(near, repeated(losses, 500)),
                                     known(same, repeated(with_nan, 500), {repeated(with_nan, 500)})};
  for (const int exponent : {900, -900}) {
    std::vector<double> scaled = losses;
    for (double& y : scaled) y = std::ldexp(y, exponent);
    cases.push_back(known(far, scaled));
  }
  std::vector<std::vector<double>> scores;
  for (const EvaluatedPoints& one : cases) {
    EvaluatedPoints few = one;  // A fit of 500 points needs seconds.
    if (one.losses.size() > 60)
      few = known({one.points.x.begin(), one.points.x.begin() + 60}, repeated(one.losses, 60));
    Improvement::Kernels kernels = Improvement::fit(few);
    kernels.loss.noise = std::min(kernels.loss.noise, 1e-6);
    kernels.excesses.resize(one.excesses.size(), kernels.loss);
    const Improvement improvement(one, kernels, {{0.5, 0.5}, {0.5, 0.5}}, 8);
    scores.emplace_back();
    for (int i = 0; i < 20; ++i) {
      scores.back().push_back(improvement.score({i / 20.0, std::fmod(i * 0.37, 1)}));
      EXPECT_TRUE(std::isfinite(scores.back().back())) << scores.size();
    }
  }
  // Powers of two scale without rounding.
  EXPECT_EQ(scores[7], scores[0]);
  EXPECT_EQ(scores[8], scores[0]);
}

TEST(Standardised, HasMeanZeroAndUnitDeviation) {
  const Standardised out = standardised({1, 3, 5, NAN, HUGE_VAL, -HUGE_VAL});  // 1 3 5 5 5 1
  double sum = 0, square = 0;
  for (const double y : out.values) sum += y, square += y * y;
  EXPECT_NEAR(sum, 0, 1e-12);
  EXPECT_NEAR(square, 6, 1e-12);
  EXPECT_EQ(out.values[3], out.values[2]);
  EXPECT_EQ(out.values[4], out.values[2]);
  EXPECT_EQ(out.values[5], out.values[0]);
  EXPECT_NEAR(out.values[0] - out.zero, 1 / out.scale, 1e-12);  // The distance of 1 from 0.
}

TEST(Standardised, AcceptsEqualValuesAndEmptyInput) {
  EXPECT_EQ(standardised({7, 7}).values, (std::vector<double>{0, 0}));
  EXPECT_LT(standardised({7, 7}).zero, 0);
  EXPECT_GT(standardised({-7, -7}).zero, 0);
  EXPECT_LT(standardised({NAN, HUGE_VAL}).zero, 0);  // An excess without a measurement is a violation.
}

}  // namespace
}  // namespace lanista::search
