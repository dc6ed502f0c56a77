#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/strategy/cma_es.h"
#include "lanista/strategy/test_support.h"

namespace lanista::strategy {
namespace {

using testing::make;
using testing::small_context;
using Point = std::vector<double>;

double sphere(const Point& x) {
  double sum = 0;
  for (const double u : x) sum += u * u;
  return sum;
}

double rosenbrock(const Point& x) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    sum += 100 * (x[i + 1] - x[i] * x[i]) * (x[i + 1] - x[i] * x[i]) + (1 - x[i]) * (1 - x[i]);
  }
  return sum;
}

template <class F>
void generation(CmaEs& search, Rng& rng, const F& f) {
  std::vector<std::pair<double, Point>> seen;
  for (std::int64_t i = 0; i < search.population(); ++i) {
    Point x = search.draw(rng);
    const double loss = f(x);
    seen.emplace_back(loss, std::move(x));
  }
  std::sort(seen.begin(), seen.end());
  std::vector<Point> ranked;
  for (auto& [loss, x] : seen) ranked.push_back(std::move(x));
  search.tell(ranked);
}

TEST(CmaConstants, AreThoseOfTheLibraryInTenDimensions) {
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

TEST(CmaEs, SeesOnlyTheOrderOfLosses) {
  CmaEs plain({1, 2, 3}, 1), bent({1, 2, 3}, 1);
  Rng a(7), b(7);
  for (int i = 0; i < 30; ++i) {
    generation(plain, a, sphere);
    generation(bent, b, [](const Point& x) { return std::exp(sphere(x)); });
  }
  EXPECT_EQ(plain.mean(), bent.mean());
  EXPECT_EQ(plain.sigma(), bent.sigma());
}

TEST(CmaEs, LearnsInOneDimensionAndKnowsWhenItIsSpent) {
  CmaEs search({4}, 1);
  Rng rng(2);
  EXPECT_FALSE(search.spent());
  for (int i = 0; i < 400 && !search.spent(); ++i) generation(search, rng, sphere);
  EXPECT_TRUE(search.spent());
  EXPECT_NEAR(search.mean()[0], 0, 1e-6);
}

/// Lowest loss of 100 trials: x and y want 0.3 and 100, n wants 7, and "a" has a number of its own.
double lowest(const StrategyPlugin& plugin, const nlohmann::json& options, std::uint64_t seed) {
  Context context = small_context(seed, false);
  context.goals = {{false, "loss"}};
  context.params = {};
  const auto add = [&](space::Parameter parameter) { ASSERT_TRUE(context.params.add(std::move(parameter)).ok()); };
  add({"kind", space::Categorical{{space::Value(std::string("a")), space::Value(std::string("b"))}}, {}});
  add({"x", space::FloatRange{-1, 1, 0, false}, {}});
  add({"y", space::FloatRange{1, 1e6, 0, true}, {}});
  add({"n", space::IntRange{0, 20, 1, false}, {}});
  add({"w", space::FloatRange{0, 1, 0, false}, {{"kind", {space::Value(std::string("a"))}}}});
  auto strategy = make(plugin, context, options);
  double best = 1e9;
  for (std::uint32_t id = 1; id <= 100; ++id) {
    const study::Proposal proposal = strategy->suggest({1})->proposals.at(0);
    const space::Sample& s = proposal.sample;
    const double x = std::get<double>(s.at("x")) - 0.3;
    const double y = std::log10(std::get<double>(s.at("y")) / 100) / 6;
    const double n = (static_cast<double>(std::get<std::int64_t>(s.at("n"))) - 7) / 20;
    const double w = s.contains("w") ? std::get<double>(s.at("w")) - 0.8 : 0.3;
    const double loss = x * x + y * y + n * n + w * w;
    best = std::min(best, loss);
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    strategy->observe(study::Measured{{TrialId{id}, 4, 4, {{"loss", loss}}}});
    strategy->observe(study::Ended{TrialId{id}, {}});
  }
  return best;
}

TEST(Cmaes, BeatsRandomInAMixedConditionalSpace) {
  int wins = 0;
  double ratio = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const double learned = lowest(cmaes_plugin(), Options::object(), seed);
    const double random = lowest(random_plugin(), Options::object(), seed);
    wins += learned < random ? 1 : 0;
    ratio += std::log10(learned / random) / 20;
  }
  EXPECT_GE(wins, 15);
  EXPECT_LT(ratio, -0.5);
}

TEST(Cmaes, AsksForMoreOfTheSameWhileAGenerationRunsAndForgetsLatecomers) {
  Context context = small_context(1, false);
  // A late trial of generation 0 must change nothing: the next proposals of two histories with different late results
  // are the same.
  std::vector<std::string> after;
  for (const double late : {0.0, 1.0}) {
    auto run = make(cmaes_plugin(), context, {{"population", 4}});
    const auto group = run->suggest({6});
    ASSERT_EQ(group->proposals.size(), 6U);
    for (std::uint32_t id = 1; id <= 6; ++id) run->observe(study::Proposed{TrialId{id}, group->proposals[id - 1]});
    for (std::uint32_t id = 1; id <= 6; ++id) {
      run->observe(study::Measured{{TrialId{id}, 4, 4, {{"acc", id <= 4 ? 0.1 * id : late}, {"loss", 0.0}}}});
      run->observe(study::Ended{TrialId{id}, {}});
    }
    after.push_back(testing::text_of(*run->suggest({3})));
  }
  EXPECT_EQ(after[0], after[1]);
}

TEST(Cmaes, RefusesAPopulationOfOne) {
  const StrategyPlugin plugin = cmaes_plugin();
  const auto strategy = plugin.make(small_context(1), *resolve_options({{"population", 1}}, plugin.options), nullptr);
  ASSERT_FALSE(strategy.ok());
  EXPECT_EQ(strategy.error().where, "population");
  EXPECT_NE(strategy.error().message.find("at least 2"), std::string::npos);
}

}  // namespace
}  // namespace lanista::strategy
