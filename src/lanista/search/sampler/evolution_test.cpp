#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/model/graph/infer.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::play;
using testing::small_context;

const nlohmann::json kSmall{{"population", 5}, {"tournament", 2}};

std::vector<study::Proposed> proposals_of(const std::vector<study::Event>& events) {
  std::vector<study::Proposed> out;
  for (const study::Event& event : events) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) out.push_back(*proposed);
  }
  return out;
}

TEST(Evolution, StartsAtRandomThenMutatesYoungestResults) {
  auto strategy = make(evolution_plugin(), small_context(1), kSmall);
  std::vector<TrialId> healthy;
  int children = 0, failed = 0;
  for (const study::Event& event : play(*strategy, 40, Rng(4))) {
    if (const auto* ended = std::get_if<study::Ended>(&event)) {
      if (ended->outcome.kind == study::OutcomeKind::kFailed) ++failed;
      if (ended->outcome.kind != study::OutcomeKind::kFailed) healthy.push_back(ended->trial);
    }
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    EXPECT_EQ(proposed->proposal.parent.has_value(), proposed->trial.value > 5);
    if (!proposed->proposal.parent) continue;
    ++children;
    const auto youngest = healthy.end() - std::min<std::ptrdiff_t>(5, std::ssize(healthy));
    EXPECT_NE(std::find(youngest, healthy.end(), *proposed->proposal.parent), healthy.end()) << proposed->trial.value;
  }
  EXPECT_EQ(children, 35);
  EXPECT_GT(failed, 0);
}

TEST(Evolution, ChangesTheModelByOneMutationOrOneParameterAtMost) {
  auto strategy = make(evolution_plugin(), small_context(2), kSmall);
  const auto proposals = proposals_of(play(*strategy, 60, Rng(4)));
  int models = 0, samples = 0;
  for (const study::Proposed& p : proposals) {
    if (!p.proposal.parent) continue;
    const study::Proposal& parent = proposals[p.proposal.parent->value - 1].proposal;
    const std::size_t grown = p.proposal.steps.size() - parent.steps.size();
    EXPECT_LE(grown, 1U);
    ASSERT_LE(parent.steps.size(), p.proposal.steps.size());
    EXPECT_TRUE(std::equal(parent.steps.begin(), parent.steps.end(), p.proposal.steps.begin()));
    models += grown == 1 ? 1 : 0;
    if (p.proposal.sample == parent.sample) continue;
    ++samples;
    int changed = 0;
    for (const auto& [name, value] : p.proposal.sample) {
      const auto old = parent.sample.find(name);
      changed += old != parent.sample.end() && old->second != value ? 1 : 0;
    }
    const bool other_branch = p.proposal.sample.at("optimizer") != parent.sample.at("optimizer");
    EXPECT_LE(changed, other_branch ? 2 : 1);  // With the branch, lr may have to change.
  }
  EXPECT_GT(models, 5);
  EXPECT_GT(samples, 5);
}

/// Returns the parent of the next child after `count` random trials with these accuracies, and the number of parameters
/// of each trial. All of them enter the tournament.
std::pair<TrialId, std::vector<std::int64_t>> next_parent(std::uint64_t seed, const std::vector<double>& accuracies,
                                                          double parsimony) {
  Context context = small_context(seed);
  context.goals = {{true, "acc"}};
  const auto count = std::ssize(accuracies);
  auto strategy = make(evolution_plugin(), context,
                       {{"population", count}, {"tournament", count}, {"parsimony", parsimony}, {"mutations", {1, 4}}});
  std::vector<std::int64_t> sizes;
  for (std::uint32_t id = 1; id <= accuracies.size(); ++id) {
    const study::Proposal proposal = testing::must(strategy->suggest({1})).proposals().at(0);
    const auto built = testing::must(context.models->rebuild(proposal.base, proposal.edits));
    sizes.push_back(testing::must(graph::model_cost(built, context.models->ops())).parameters);
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    strategy->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", accuracies[id - 1]}}}});
    strategy->observe(study::Ended{TrialId{id}, {}});
  }
  const auto child = testing::must(strategy->suggest({1})).proposals().at(0);
  LANISTA_CHECK(child.parent.has_value(), "the test's own study");
  return {*child.parent, sizes};
}

TEST(Evolution, PrefersSmallerModelWithParsimony) {
  int differ = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<double> level(6, 0.5), falling{0.6, 0.59, 0.58, 0.4, 0.3, 0.2};
    EXPECT_EQ(next_parent(seed, level, 0).first, TrialId{1});
    const auto smallest_of = [&](const std::vector<std::int64_t>& sizes, std::ptrdiff_t first) {
      const auto least = std::min_element(sizes.begin(), sizes.begin() + first);
      return TrialId{static_cast<std::uint32_t>(least - sizes.begin() + 1)};
    };
    const auto [parent, sizes] = next_parent(seed, level, 0.01);
    EXPECT_EQ(parent, smallest_of(sizes, 6));
    differ += parent != TrialId{1} ? 1 : 0;
    // Half of six: the ranks 0 to 2 are one bucket.
    EXPECT_EQ(next_parent(seed, falling, 0.5).first, smallest_of(sizes, 3));
    EXPECT_EQ(next_parent(seed, falling, 0.01).first, TrialId{1}) << "a bucket of one rank changes nothing";
  }
  EXPECT_GT(differ, 5);
}

TEST(Evolution, SelectsBestParentAndNeverAFailedOne) {
  Context context = small_context(3);
  context.goals = {{true, "acc"}};
  auto strategy = make(evolution_plugin(), context, {{"population", 5}, {"tournament", 5}});
  for (std::uint32_t id = 1; id <= 5; ++id) {
    const auto group = strategy->suggest({1});
    ASSERT_TRUE(group.ok());
    strategy->observe(study::Proposed{TrialId{id}, group->proposals().at(0)});
    strategy->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", id == 5 ? 0.99 : 0.1 * id}}}});
    study::Outcome outcome;
    if (id == 5) outcome.kind = study::OutcomeKind::kFailed;
    strategy->observe(study::Ended{TrialId{id}, outcome});
  }

  const auto child = strategy->suggest({1});

  ASSERT_TRUE(child.ok());
  EXPECT_EQ(child->proposals().at(0).parent, TrialId{4});
}

TEST(Evolution, FindsBetterModelsThanRandomOnASmoothLandscape) {
  // The best learning rate of sgd is 0.1, and the best momentum 0.5.
  const auto best = [](const StrategyPlugin& plugin, const nlohmann::json& options, std::uint64_t seed) {
    Context context = small_context(seed, false);
    context.goals = {{false, "loss"}};
    auto strategy = make(plugin, context, options);
    double lowest = 100;
    for (std::uint32_t id = 1; id <= 80; ++id) {
      const auto group = strategy->suggest({1});
      const study::Proposal proposal = group->proposals().at(0);
      double loss = 2;
      if (proposal.sample.contains("momentum")) {
        const double lr = std::get<double>(proposal.sample.at("lr")) - 0.1;
        const double momentum = std::get<double>(proposal.sample.at("momentum")) - 0.5;
        loss = 10 * lr * lr + momentum * momentum;
      }
      lowest = std::min(lowest, loss);
      testing::feed_trial(*strategy, id, proposal, {{"loss", loss}});
    }
    return lowest;
  };
  int wins = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const double evolved = best(evolution_plugin(), {{"population", 12}, {"tournament", 4}}, seed);
    wins += evolved < best(random_plugin(), Options::object(), seed) ? 1 : 0;
  }
  EXPECT_GE(wins, 13);
}

TEST(Evolution, RejectsInvalidMutationCounts) {
  const StrategyPlugin plugin = evolution_plugin();
  const Context context = small_context(1);
  for (const nlohmann::json& range : {nlohmann::json{3, 1}, nlohmann::json{1, 2, 3}}) {
    const auto options = resolve_options({{"mutations", range}}, plugin.options);
    ASSERT_TRUE(options.ok());
    const auto strategy = plugin.make(context, *options);
    ASSERT_FALSE(strategy.ok());
    EXPECT_EQ(strategy.error().where, "mutations");
  }
}

}  // namespace
}  // namespace lanista::search
