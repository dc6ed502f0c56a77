#include <gtest/gtest.h>

#include <set>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::play;
using testing::small_context;

std::vector<study::Proposal> all_of(const Context& context, std::int64_t grain) {
  auto strategy = make(grid_plugin(), context, {{"grain", grain}});
  std::vector<study::Proposal> proposals;
  for (const study::Event& event : play(*strategy, 10'000, Rng(1))) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) proposals.push_back(proposed->proposal);
  }
  return proposals;
}

TEST(Grid, HasEveryPointOfAConditionalSpaceOnce) {
  const auto proposals = all_of(small_context(1), 3);

  std::set<std::string> samples;
  std::size_t sgd = 0;
  for (const study::Proposal& proposal : proposals) {
    EXPECT_TRUE(proposal.steps.empty());
    samples.insert(space::sample_json(proposal.sample).dump());
    sgd += proposal.sample.contains("momentum") ? 1 : 0;
  }
  EXPECT_EQ(proposals.size(), 9U + 3U);  // sgd: lr x momentum, adam: lr
  EXPECT_EQ(samples.size(), proposals.size());
  EXPECT_EQ(sgd, 9U);
}

TEST(Grid, SkipsPointsOfOtherProposers) {
  const Context context = small_context(1);
  const auto proposals = all_of(context, 3);
  auto strategy = make(grid_plugin(), context, {{"grain", 3}});
  strategy->observe(study::Proposed{TrialId{1}, proposals[2]});
  strategy->observe(study::Proposed{TrialId{2}, proposals[0]});

  const auto rest = strategy->suggest({100});

  ASSERT_TRUE(rest.ok());
  ASSERT_EQ(rest->proposals().size(), proposals.size() - 2);
  EXPECT_EQ(study::run_key(rest->proposals()[0]), study::run_key(proposals[1]));
  EXPECT_EQ(study::run_key(rest->proposals()[1]), study::run_key(proposals[3]));
}

TEST(Grid, EnumeratesBasesWithoutParameters) {
  Context context = small_context(1);
  context.params = {};
  EXPECT_EQ(all_of(context, 5).size(), 1U);
}

}  // namespace
}  // namespace lanista::search
