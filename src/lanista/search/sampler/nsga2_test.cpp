#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "lanista/search/study/pareto.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::play;
using testing::small_context;

/// Feeds the events of a trial that succeeded with these metrics.
void feed_event(Strategy& strategy, std::uint32_t id, const study::Proposal& proposal,
                const std::map<std::string, double>& metrics) {
  testing::feed_trial(strategy, id, proposal, metrics);
}

TEST(Nsga2, CrossesParentValuesWithoutMutation) {
  Context context = small_context(1, false);
  auto strategy = make(nsga2_plugin(), context, {{"population", 6}, {"p_mutation", 1e-12}});
  std::set<space::Value> lrs, momenta;
  int children = 0, crossed = 0;
  for (std::uint32_t id = 1; id <= 12; ++id) {
    const auto group = strategy->suggest({1});
    if (!group) break;  // All crossings are duplicates.
    const study::Proposal proposal = group->proposals().at(0);
    if (proposal.parent && proposal.sample.contains("momentum")) {
      ++children;
      if (lrs.contains(proposal.sample.at("lr")) && momenta.contains(proposal.sample.at("momentum"))) ++crossed;
    }
    if (proposal.sample.contains("momentum")) {
      lrs.insert(proposal.sample.at("lr"));
      momenta.insert(proposal.sample.at("momentum"));
    }
    feed_event(*strategy, id, proposal, {{"acc", 0.1 * id}, {"loss", 0.1 * id}});
  }
  EXPECT_GT(children, 2);
  EXPECT_GE(crossed, children - 1);
}

TEST(Nsga2, ExchangesMutationsBetweenModelsOfOneBase) {
  auto strategy = make(nsga2_plugin(), small_context(5), {{"population", 8}, {"p_mutation", 1e-12}});
  const auto events = play(*strategy, 60, Rng(3));
  std::vector<space::MutationStep> born;
  int mixed = 0;
  for (const study::Event& event : events) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    for (const space::MutationStep& step : proposed->proposal.steps) {
      const bool known = std::find(born.begin(), born.end(), step) != born.end();
      if (!proposed->proposal.parent) {
        born.push_back(step);
      } else {
        EXPECT_TRUE(known);  // A child has only steps of earlier models.
        ++mixed;
      }
    }
  }
  EXPECT_GT(mixed, 10);
}

TEST(Nsga2, SelectsParentsFromFrontNeverFailed) {
  auto strategy = make(nsga2_plugin(), small_context(3), {{"population", 3}, {"p_crossover", 0}});
  for (std::uint32_t id = 1; id <= 30; ++id) {
    const auto group = strategy->suggest({1});
    ASSERT_TRUE(group.ok());
    const study::Proposal proposal = group->proposals().at(0);
    // Trials 1 to 3 form a front that no later trial reaches.
    if (id > 3) {
      ASSERT_TRUE(proposal.parent);
      EXPECT_LE(proposal.parent->value, 3U);
    }
    const double place = id <= 3 ? 0.1 * id : 10.0 + id;
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    strategy->observe(study::Measured{{TrialId{id}, 4, 4, {{"acc", id <= 3 ? place : -place}, {"loss", place}}}});
    study::Outcome outcome;
    if (id % 4 == 0) outcome.kind = study::OutcomeKind::kFailed;
    strategy->observe(study::Ended{TrialId{id}, outcome});
  }
}

TEST(Nsga2, ReplaysEventsWithChildren) {
  const nlohmann::json options{{"population", 6}};
  auto strategy = make(nsga2_plugin(), small_context(8), options);
  auto replayed = make(nsga2_plugin(), small_context(8), options);
  for (const study::Event& event : play(*strategy, 40, Rng(2))) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const auto group = replayed->suggest({1});
      ASSERT_TRUE(group.ok());
      EXPECT_EQ(study::proposal_json(group->proposals().at(0)), study::proposal_json(proposed->proposal));
    }
    replayed->observe(event);
  }
}

/// Returns the area between the front and (2, 2) for minimising (x^2, (1 - x)^2) with a penalty that both share.
double dominated_area(const StrategyPlugin& plugin, const nlohmann::json& options, std::uint64_t seed) {
  Context context = small_context(seed, false);
  context.goals = {{false, "f"}, {false, "g"}};
  auto strategy = make(plugin, context, options);
  std::vector<std::pair<double, double>> points;
  for (std::uint32_t id = 1; id <= 120; ++id) {
    const study::Proposal proposal = strategy->suggest({1})->proposals().at(0);
    std::pair<double, double> values{2, 2};
    if (proposal.sample.contains("momentum")) {
      const double x = std::get<double>(proposal.sample.at("momentum")) / 0.9;
      const double far = std::abs(std::get<double>(proposal.sample.at("lr")) - 0.1);
      values = {x * x + 2 * far, (1 - x) * (1 - x) + 2 * far};
    }
    points.push_back(values);
    feed_event(*strategy, id, proposal, {{"f", values.first}, {"g", values.second}});
  }
  std::sort(points.begin(), points.end());
  double area = 0, lowest = 2;
  for (const auto& [f, g] : points) {
    if (f >= 2 || g >= lowest) continue;
    area += (2 - f) * (lowest - g);
    lowest = g;
  }
  return area;
}

TEST(Nsga2, CoversAFrontBetterThanRandom) {
  int wins = 0;
  double gain = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const double crossed = dominated_area(nsga2_plugin(), {{"population", 20}}, seed);
    const double random = dominated_area(random_plugin(), Options::object(), seed);
    wins += crossed > random ? 1 : 0;
    gain += (crossed - random) / 20;
  }
  EXPECT_GE(wins, 14);
  EXPECT_GT(gain, 0.02);
}

}  // namespace
}  // namespace lanista::search
