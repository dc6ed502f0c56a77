#include "lanista/search/sampler/sobol.h"

#include <set>

#include <gtest/gtest.h>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::small_context;

TEST(Sobol, BeginsWithTheKnownPoints) {
  const std::vector<std::vector<double>> want{{0, 0, 0, 0, 0},
                                              {.5, .5, .5, .5, .5},
                                              {.75, .25, .25, .25, .75},
                                              {.25, .75, .75, .75, .25},
                                              {.375, .375, .625, .875, .375},
                                              {.875, .875, .125, .375, .875},
                                              {.625, .125, .875, .625, .625},
                                              {.125, .625, .375, .125, .125}};
  for (std::uint64_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(sobol_point(5, i, Scramble::kNone, Rng(1)), want[i]) << i;
  }
}

TEST(Sobol, FillsEveryIntervalUnderScrambling) {
  // Any 2^m points from a multiple of 2^m on have one point in each of 2^m equal parts, in every dimension.
  for (const Scramble scramble : {Scramble::kNone, Scramble::kShift, Scramble::kOwen}) {
    for (std::size_t d = 0; d < 40; ++d) {
      std::set<int> parts;
      for (std::uint64_t i = 64; i < 128; ++i) {
        parts.insert(static_cast<int>(sobol_point(40, i, scramble, Rng(3))[d] * 64));
      }
      EXPECT_EQ(parts.size(), 64U) << d;
    }
  }
}

TEST(Sobol, DependsOnSeedWhenScrambled) {
  for (const Scramble scramble : {Scramble::kShift, Scramble::kOwen}) {
    EXPECT_EQ(sobol_point(3, 5, scramble, Rng(1)), sobol_point(3, 5, scramble, Rng(1)));
    EXPECT_NE(sobol_point(3, 5, scramble, Rng(1)), sobol_point(3, 5, scramble, Rng(2)));
  }
  EXPECT_EQ(sobol_point(3, 5, Scramble::kNone, Rng(1)), sobol_point(3, 5, Scramble::kNone, Rng(2)));
}

TEST(Sobol, SpreadsTrialsEvenlyOverTheBranchesOfASpace) {
  auto strategy = make(sobol_plugin(), small_context(1), {{"scramble", "none"}});
  const auto group = strategy->suggest({64});
  ASSERT_TRUE(group.ok());
  int sgd = 0, slow = 0;
  for (const study::Proposal& proposal : group->proposals()) {
    const bool is_sgd = proposal.sample.contains("momentum");
    sgd += is_sgd ? 1 : 0;
    slow += is_sgd && std::get<double>(proposal.sample.at("momentum")) < 0.45 ? 1 : 0;
  }
  EXPECT_EQ(sgd, 32);
  EXPECT_EQ(slow, 16);
}

TEST(Sobol, ProposesFeasiblePointsInOrder) {
  Context context = small_context(1, false);
  context.params = {};
  for (const char* name : {"lr", "momentum"}) {
    ASSERT_TRUE(context.params.add({name, space::FloatRange{0, 1, 0, false}, {}}).ok());
  }
  context.constraints = {*study::Constraint::parse("lr <= 0.002")};
  std::vector<double> want;
  for (std::uint64_t i = 0; want.size() < 40; ++i) {
    const auto point = sobol_point(3, i, Scramble::kNone, Rng(1));
    if (point[1] <= 0.002) want.push_back(point[2]);
  }
  auto strategy = make(sobol_plugin(), context, {{"scramble", "none"}});
  std::vector<double> seen;
  for (const study::Event& event : testing::play(*strategy, 40, Rng(1))) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed != nullptr) seen.push_back(std::get<double>(proposed->proposal.sample.at("momentum")));
  }
  EXPECT_EQ(seen, want);  // More points were skipped in all than one proposal may skip.
}

TEST(Sobol, ContinuesAfterProposalsOfOthers) {
  const Context context = small_context(1, false);
  auto strategy = make(sobol_plugin(), context), random = make(random_plugin(), context);
  const auto first = strategy->suggest({4});
  ASSERT_TRUE(first.ok());
  const auto foreign = random->suggest({1});
  ASSERT_TRUE(foreign.ok());
  strategy->observe(study::Proposed{TrialId{1}, first->proposals()[0]});
  strategy->observe(study::Proposed{TrialId{2}, foreign->proposals()[0]});
  strategy->observe(study::Proposed{TrialId{3}, first->proposals()[2]});
  const auto next = strategy->suggest({2});
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(study::proposal_json(next->proposals().at(0)), study::proposal_json(first->proposals()[1]));
  EXPECT_EQ(study::proposal_json(next->proposals().at(1)), study::proposal_json(first->proposals()[3]));
}

TEST(Sobol, RejectsTooManyDimensions) {
  Context context = small_context(1);
  context.params = {};
  for (int i = 0; i < 3667; ++i) {
    ASSERT_TRUE(context.params.add({"p" + std::to_string(i), space::FloatRange{0, 1, 0, false}, {}}).ok());
  }
  const StrategyPlugin plugin = sobol_plugin();
  const auto strategy = plugin.make(context, *resolve_options(Options::object(), plugin.options));
  ASSERT_FALSE(strategy.ok());
  EXPECT_EQ(strategy.error().message, "the space has 3668 decisions; a Sobol sequence has at most 3667");
}

}  // namespace
}  // namespace lanista::search
