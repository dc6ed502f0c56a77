#include "bench/functions.h"

#include <cmath>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include "bench/function_benchmark.h"
#include "bench/function_search.h"

namespace lanista::bench {
namespace {

TestFunction named(const std::string& name) {
  for (TestFunction& each : test_functions()) {
    if (each.name == name) return each;
  }
  return {};
}

/// The minimum near `sample` by coordinate descent, since published minima are rounded.
double descend(const TestFunction& function, space::Sample sample) {
  double best = function.true_value(sample);
  for (double step = 0.05; step > 1e-9;) {
    bool moved = false;
    for (auto& [name, value] : sample) {
      auto* x = std::get_if<double>(&value);
      if (x == nullptr) continue;
      for (const double by : {step, -step}) {
        const double before = *x;
        *x = before + by;
        const double there = function.params.check(sample).ok() ? function.true_value(sample) : best;
        if (there < best) {
          best = there;
          moved = true;
        } else {
          *x = before;
        }
      }
    }
    if (!moved) step /= 2;
  }
  return best;
}

TEST(TestFunctions, HavePublishedMinima) {
  const TestFunction branin = named("branin"), hartmann = named("hartmann6"), tree = named("tree");
  for (const auto& [x, y] : {std::pair(-3.14159, 12.275), std::pair(3.14159, 2.275), std::pair(9.42478, 2.475)}) {
    EXPECT_NEAR(descend(branin, {{"x", x}, {"y", y}}), branin.minimum, 1e-9);
  }
  const space::Sample optimum{{"x0", 0.20169},  {"x1", 0.150011}, {"x2", 0.476874},
                              {"x3", 0.275332}, {"x4", 0.311652}, {"x5", 0.6573}};
  EXPECT_NEAR(descend(hartmann, optimum), hartmann.minimum, 1e-9);
  EXPECT_NEAR(hartmann.true_value(optimum), -3.32237, 1e-5);
  const space::Value zero(std::int64_t{0});
  const space::Sample lowest{{"first", zero}, {"left", zero}, {"x4", 0.0}, {"r8", 0.0}};
  ASSERT_TRUE(tree.params.check(lowest).ok());
  EXPECT_DOUBLE_EQ(tree.true_value(lowest), tree.minimum);
}

TEST(TestFunctions, AreNowhereBelowTheirMinima) {
  for (const TestFunction& function : test_functions()) {
    const double noise = function.epochs > 1 ? 0.4 : 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      space::RandomChooser choose(Rng(3).split(i));
      const space::Sample sample = function.params.sample(choose);
      EXPECT_GE(function.true_value(sample), function.minimum) << function.name;
      EXPECT_NEAR(function.measured(sample, 1, Rng(i)), function.true_value(sample), noise) << function.name;
    }
  }
}

TEST(SearchFunction, SpendsBudgetAndRegretNeverRises) {
  for (const search::StrategyPlugin& plugin : search::builtin_strategies()) {
    if (plugin.name != "random" && plugin.name != "dehb") continue;
    const Options options = *resolve_options(Options::object(), plugin.options);
    for (const std::string rule : {"none", "asha"}) {
      const FunctionBudget budget{{27, 135, 540}, 3, rule};
      const auto run = search_function(named("mf_hartmann"), plugin, options, budget, 5);
      ASSERT_TRUE(run.ok()) << run.error().text();
      ASSERT_EQ(run->regrets.size(), 3U);
      for (const double regret : run->regrets) {
        EXPECT_GT(regret, 0);
        EXPECT_LT(regret, 3.33);
      }
      // Without early stopping a trial needs 27 epochs.
      if (rule == "none" && plugin.name == "random") {
        EXPECT_LE(run->trials, 540 / 27 + 3);
      }
      if (rule == "asha") {
        EXPECT_GT(run->trials, 2 * 540 / 27);
      }
    }
  }
}

TEST(FunctionBenchmark, PrintsRowForEachMilestoneAndRefusesUnknownNames) {
  BenchRequest request;
  request.json = true;
  request.cases = {"tree"};
  request.strategy = "random";
  request.seeds = 2;
  request.queries = 12;
  std::ostringstream out;
  ASSERT_TRUE(functions(request, out).ok());
  EXPECT_NE(out.str().find("\"tree/10\""), std::string::npos);
  EXPECT_NE(out.str().find("\"tree/12\""), std::string::npos);
  request.cases = {"forest"};
  EXPECT_NE(functions(request, out).error().message.find("allowed are branin, hartmann6, tree, mf_hartmann"),
            std::string::npos);
}

}  // namespace
}  // namespace lanista::bench
