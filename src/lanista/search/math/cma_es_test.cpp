#include "lanista/search/math/cma_es.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/search/sampler/test_functions.h"

namespace lanista::search {
namespace {

using testing::rosenbrock;
using testing::sphere;
using Point = std::vector<double>;

template <class F>
void generation(CmaEs& search, Rng& rng, const F& f) {
  std::vector<std::pair<double, Point>> seen;
  for (std::int64_t i = 0; i < search.population(); ++i) {
    Point x = search.sample_point(rng);
    const double loss = f(x);
    seen.emplace_back(loss, std::move(x));
  }
  std::sort(seen.begin(), seen.end());
  std::vector<CmaEs::RankedPoint> ranked;
  for (auto& [loss, x] : seen) ranked.push_back({std::move(x)});
  search.update(ranked);
}

TEST(CmaConstants, MatchReferenceLibraryInTenDimensions) {
  const CmaConstants c(10);
  EXPECT_EQ(c.lambda, 10);
  EXPECT_EQ(c.mu, 5);
  EXPECT_NEAR(c.mu_eff, 3.167299, 1e-6);
  EXPECT_NEAR(c.c_1, 0.015284, 1e-6);
  EXPECT_NEAR(c.c_mu, 0.020154, 1e-6);
  EXPECT_NEAR(c.c_sigma, 0.284429, 1e-6);
  EXPECT_NEAR(c.d_sigma, 1.284429, 1e-6);
  EXPECT_NEAR(c.c_c, 0.294990, 1e-6);
  EXPECT_NEAR(c.chi, 3.084727, 1e-6);
  double parents = 0;
  for (std::size_t i = 0; i < 5; ++i) parents += c.weights[i];
  EXPECT_NEAR(parents, 1, 1e-12);
  for (std::size_t i = 5; i < 10; ++i) EXPECT_LT(c.weights[i], 0);
}

TEST(CmaEs, ConvergesLogLinearlyOnTheSphere) {
  CmaEs search(Point(5, 3), 1);
  Rng rng(1);
  std::vector<double> logs;
  for (int i = 0; i < 150; ++i) {
    generation(search, rng, sphere);
    if (i % 50 == 49) logs.push_back(std::log10(sphere(search.mean())));
  }
  EXPECT_LT(logs[0], -2);
  EXPECT_LT(logs[1], logs[0] - 4);
  EXPECT_LT(logs[2], logs[1] - 4);
}

TEST(CmaEs, FollowsTheValleyOfRosenbrock) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    CmaEs search(Point(4, 0), 0.5);
    Rng rng(seed);
    for (int i = 0; i < 400; ++i) generation(search, rng, rosenbrock);
    EXPECT_LT(rosenbrock(search.mean()), 1e-8) << seed;
    EXPECT_FALSE(search.sigma() > 1);
  }
}

TEST(CmaEs, DependsOnlyOnOrderOfLosses) {
  CmaEs plain({1, 2, 3}, 1), bent({1, 2, 3}, 1);
  Rng a(7), b(7);
  for (int i = 0; i < 30; ++i) {
    generation(plain, a, sphere);
    generation(bent, b, [](const Point& x) { return std::exp(sphere(x)); });
  }
  EXPECT_EQ(plain.mean(), bent.mean());
  EXPECT_EQ(plain.sigma(), bent.sigma());
}

TEST(CmaEs, ConvergesInOneDimension) {
  CmaEs search({4}, 1);
  Rng rng(2);
  EXPECT_FALSE(search.has_converged());
  for (int i = 0; i < 400 && !search.has_converged(); ++i) generation(search, rng, sphere);
  EXPECT_TRUE(search.has_converged());
  EXPECT_NEAR(search.mean()[0], 0, 1e-6);
}

/// Returns `start` after one generation: `best`, then samples in the order of their sampling.
CmaEs after_a_generation(const CmaEs& start, CmaEs::RankedPoint best) {
  CmaEs search = start;
  Rng rng(4);
  std::vector<CmaEs::RankedPoint> ranked{std::move(best)};
  while (static_cast<std::int64_t>(ranked.size()) < search.population()) ranked.push_back({search.sample_point(rng)});
  search.update(ranked);
  return search;
}

TEST(CmaEs, ShortensInjectedPointsToSampleDistance) {
  const CmaEs start(Point(4, 0), 1);
  const double longest = std::sqrt(4) + 2 * 4 / 6.0;  // Hansen 2011, section 3.

  const CmaEs far = after_a_generation(start, {{1000, 0, 0, 0}, true});
  const CmaEs shortened = after_a_generation(start, {{longest, 0, 0, 0}, false});
  const CmaEs own = after_a_generation(start, {{1000, 0, 0, 0}, false});

  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(far.mean()[i], shortened.mean()[i], 1e-12);
  EXPECT_LE(far.sigma(), shortened.sigma());
  EXPECT_GT(own.mean()[0], 100);
  EXPECT_GT(own.sigma(), 10 * far.sigma());
}

TEST(CmaEs, AcceptsNearbyInjectedPointsUnchanged) {
  const CmaEs start(Point(4, 0), 1);
  const CmaEs injected = after_a_generation(start, {{0.5, 0.5, 0, 0}, true});
  const CmaEs own = after_a_generation(start, {{0.5, 0.5, 0, 0}, false});
  EXPECT_EQ(injected.mean(), own.mean());
  EXPECT_EQ(injected.sigma(), own.sigma());
}

TEST(CmaEs, KeepsStateWhenPopulationSizeChanges) {
  CmaEs search(Point(5, 3), 1);
  Rng rng(1);
  for (int i = 0; i < 50; ++i) generation(search, rng, sphere);
  const Point mean = search.mean();
  const double reached = sphere(mean), sigma = search.sigma();

  search.set_population(16);

  EXPECT_EQ(search.population(), 16);
  EXPECT_EQ(search.mean(), mean);
  EXPECT_EQ(search.sigma(), sigma);
  for (int i = 0; i < 50; ++i) generation(search, rng, sphere);
  EXPECT_LT(sphere(search.mean()), 1e-3 * reached);
}

TEST(CmaEs, HasConvergedAndIsFiniteOnEqualPoints) {
  CmaEs search({1, 2, 3}, 1);
  for (int i = 0; i < 3000 && !search.has_converged(); ++i) {
    search.update(std::vector<CmaEs::RankedPoint>(static_cast<std::size_t>(search.population()), {search.mean()}));
    for (const double x : search.mean()) ASSERT_TRUE(std::isfinite(x));
  }
  EXPECT_TRUE(search.has_converged());
}

TEST(CmaEs, StaysFiniteWhenOneAxisVanishes) {
  CmaEs search({1, 2}, 1);
  for (int i = 0; i < 30'000; ++i) {
    std::vector<CmaEs::RankedPoint> ranked;
    for (std::int64_t k = 0; k < search.population(); ++k) {
      const double side = k % 2 == 0 ? search.sigma() : -search.sigma();
      ranked.push_back({{search.mean()[0] + side, search.mean()[1]}});
    }
    search.update(ranked);
    for (const double x : search.mean()) ASSERT_TRUE(std::isfinite(x)) << i;
    ASSERT_TRUE(std::isfinite(search.sigma())) << i;
  }
  EXPECT_TRUE(search.has_converged());
}

// All points are on one line. Rounding makes the eigenvalues of the other axes zero or negative.
TEST(CmaEs, StaysFiniteWhenAllAxesButOneVanish) {
  CmaEs search({1, 2, 3}, 1);
  for (int i = 0; i < 300; ++i) {
    std::vector<CmaEs::RankedPoint> ranked;
    for (std::int64_t k = 0; k < search.population(); ++k) {
      const double side = k % 2 == 0 ? search.longest_axis_deviation() : -search.longest_axis_deviation();
      Point x = search.mean();
      for (std::size_t axis = 0; axis < 3; ++axis) x[axis] += side * (static_cast<double>(axis) + 1);
      ranked.push_back({std::move(x)});
    }
    search.update(ranked);
    for (const double x : search.mean()) ASSERT_TRUE(std::isfinite(x)) << i;
    ASSERT_TRUE(std::isfinite(search.sigma())) << i;
    ASSERT_TRUE(std::isfinite(search.longest_axis_deviation())) << i;
  }
  EXPECT_TRUE(search.has_converged());
}

TEST(CmaEs, IncreasesStepSizeOnEqualLosses) {
  CmaEs search({1, 2, 3}, 1);
  const double before = search.longest_axis_deviation();
  search.update_from_ties();
  EXPECT_GT(search.longest_axis_deviation(), 1.2 * before);
  EXPECT_EQ(search.mean(), Point({1, 2, 3}));
}

}  // namespace
}  // namespace lanista::search
