#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::must;
using testing::small_context;
using testing::toy_result;

/// Runs one trial that ends with `loss`. Returns its proposal.
study::Proposal run(Strategy& strategy, std::uint32_t id, double loss) {
  const study::Proposal proposal = must(strategy.suggest({1})).proposals().at(0);
  testing::feed_trial(strategy, id, proposal, {{"loss", loss}});
  return proposal;
}

Context one_goal(std::uint64_t seed) {
  Context context = small_context(seed);
  context.goals = {{false, "loss"}};
  return context;
}

TEST(LocalSearch, ClimbsFromBestAndRestartsWhenStuck) {
  auto strategy = make(local_search_plugin(), one_goal(1), {{"starts", 2}, {"patience", 3}});
  EXPECT_FALSE(run(*strategy, 1, 0.5).parent);
  EXPECT_FALSE(run(*strategy, 2, 0.6).parent);           // 1 without improvement.
  EXPECT_EQ(run(*strategy, 3, 0.4).parent, TrialId{1});  // Better.
  EXPECT_EQ(run(*strategy, 4, 0.4).parent, TrialId{3});  // 1: an equal loss is no improvement.
  EXPECT_EQ(run(*strategy, 5, 0.9).parent, TrialId{3});  // 2.
  EXPECT_EQ(run(*strategy, 6, 0.9).parent, TrialId{3});  // 3.
  EXPECT_FALSE(run(*strategy, 7, 0.8).parent);
  EXPECT_FALSE(run(*strategy, 8, 0.7).parent);
  EXPECT_EQ(run(*strategy, 9, 0.9).parent, TrialId{8});  // The parent is of the new climb, although trial 3 was better.
}

TEST(LocalSearch, IgnoresEarlierClimbsAndFailedTrials) {
  auto strategy = make(local_search_plugin(), one_goal(2), {{"starts", 1}, {"patience", 1}});
  run(*strategy, 1, 0.5);
  const study::Proposal late = must(strategy->suggest({1})).proposals().at(0);
  strategy->observe(study::Proposed{TrialId{2}, late});
  run(*strategy, 3, 0.6);  // Without improvement: a new climb.
  strategy->observe(study::Measured{{TrialId{2}, 4, 4, {{"loss", 0.1}}}});
  strategy->observe(study::Ended{TrialId{2}, {}});
  const study::Proposal start = must(strategy->suggest({1})).proposals().at(0);
  EXPECT_FALSE(start.parent);
  strategy->observe(study::Proposed{TrialId{4}, start});
  strategy->observe(study::Ended{TrialId{4}, {study::OutcomeKind::kFailed, "", {}, "", {}}});
  EXPECT_FALSE(must(strategy->suggest({1})).proposals().at(0).parent);
}

TEST(LocalSearch, ChangesOneMutationOrOneParameter) {
  auto strategy = make(local_search_plugin(), one_goal(3), {{"starts", 1}, {"patience", 1000}, {"radius", 0.05}});
  const study::Proposal start = run(*strategy, 1, 0);
  int models = 0, values = 0;
  double moved = 0;
  for (std::uint32_t id = 2; id <= 60; ++id) {
    const study::Proposal p = run(*strategy, id, 1);
    EXPECT_EQ(p.parent, TrialId{1});
    const bool same_model = p.graph_hash == start.graph_hash && p.steps == start.steps;
    EXPECT_NE(same_model, p.sample == start.sample);
    if (!same_model) {
      EXPECT_EQ(p.steps.size(), start.steps.size() + 1);
      ++models;
    } else if (p.sample.at("optimizer") == start.sample.at("optimizer")) {
      int changed = 0;
      for (const auto& [name, value] : p.sample) {
        if (value == start.sample.at(name)) continue;
        ++changed;
        if (name == "momentum") {
          moved = std::max(moved, std::abs(std::get<double>(value) - std::get<double>(start.sample.at(name))));
        }
      }
      EXPECT_EQ(changed, 1);
      ++values;
    }
  }
  EXPECT_GT(models, 3);  // The base has few neighbours.
  EXPECT_GT(values, 10);
  EXPECT_LT(moved, 0.9 * 0.05 * 4);  // Four standard deviations.
}

TEST(LocalSearch, BeatsRandomSearch) {
  const double random = toy_result(random_plugin(), Options::object());
  EXPECT_LT(toy_result(local_search_plugin(), Options::object()), random - 2);
  EXPECT_LT(toy_result(local_search_plugin(), Options::object(), 60, 4), random - 1.5);
}

}  // namespace
}  // namespace lanista::search
