#include "lanista/search/sampler/tpe.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "lanista/search/sampler/decisions.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using namespace testing;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(GoodCount, MatchesReferences) {
  const std::vector<std::size_t> n{10, 11, 100, 251}, linear{1, 2, 10, 25}, root{1, 1, 3, 4};
  for (std::size_t i = 0; i < n.size(); ++i) {
    EXPECT_EQ(good_count(Gamma::kLinear, n[i]), linear[i]);
    EXPECT_EQ(good_count(Gamma::kSqrt, n[i]), root[i]);
  }
  EXPECT_EQ(good_count(Gamma::kSqrt, 16), 1U);
  EXPECT_EQ(good_count(Gamma::kSqrt, 17), 2U);
  EXPECT_EQ(good_count(Gamma::kSqrt, 1'000'000), 25U);
}

Observation ended(std::uint32_t id, std::vector<double> losses,
                  study::OutcomeKind outcome = study::OutcomeKind::kSucceeded, std::int64_t epoch = 9) {
  return {TrialId{id}, {}, std::move(losses), epoch, outcome};
}

TEST(BestTrials, RanksCompleteThenStoppedThenFailed) {
  const auto stopped = study::OutcomeKind::kStopped;
  const std::vector<Observation> trials{ended(1, {}, study::OutcomeKind::kFailed),
                                        ended(2, {0.1}, stopped, 3),
                                        ended(3, {0.9}),
                                        ended(4, {0.3}, stopped, 5),
                                        ended(5, {0.2}, stopped, 5),
                                        ended(6, {std::nan("")}),
                                        ended(7, {-kInf}),
                                        ended(8, {kInf})};
  EXPECT_EQ(best_trials(trials, 8), (std::vector<std::size_t>{6, 2, 4, 3, 1, 0, 5, 7}));
  EXPECT_EQ(best_trials(trials, 2), (std::vector<std::size_t>{6, 2}));
  EXPECT_TRUE(best_trials({}, 3).empty());
}

TEST(BestTrials, CutsFrontByHypervolumeLoss) {
  // One front. Trials 1 and 2 are neighbours, so the second of two is another (4 adds 0.041, 3 adds 0.04).
  const std::vector<Observation> trials{ended(1, {0.4, 0.41}), ended(2, {0.41, 0.4}), ended(3, {0, 1}),
                                        ended(4, {1, 0}), ended(5, {2, 2})};
  const auto two = best_trials(trials, 2);
  EXPECT_EQ(two[0], 0U);
  EXPECT_EQ(two[1], 3U);
  const auto all = best_trials(trials, 5);
  EXPECT_EQ(all[4], 4U);
}

TEST(Hypervolume, IsTheVolumeOfTheStaircase) {
  EXPECT_DOUBLE_EQ(hypervolume({{1, 3}, {2, 2}, {3, 1}}, {4, 4}), 6);
  EXPECT_DOUBLE_EQ(hypervolume({{1, 3}, {2, 2}, {3, 1}, {3, 3}, {5, 0}}, {4, 4}), 6);
  EXPECT_DOUBLE_EQ(hypervolume({{1, 1, 1}, {0, 1.5, 1.5}}, {2, 2, 2}), 1 + 0.25);
  EXPECT_EQ(hypervolume({}, {4, 4}), 0);
}

TEST(DecisionList, GroupsParametersThatExistTogether) {
  const Context context = small_context(1, false);
  const DecisionList joint(context, true);  // Base, optimizer, lr and momentum of sgd, lr of adam.
  EXPECT_EQ(joint.groups(), (std::vector<std::vector<std::size_t>>{{1}, {2, 3}, {4}}));
  EXPECT_EQ(DecisionList(context, false).groups().size(), 4U);

  std::vector<std::size_t> asked;
  const auto [base, sample] = joint.choose_values([&](std::size_t group) -> std::vector<space::Value> {
    asked.push_back(group);
    if (group == 0) return {std::string("sgd")};
    return {0.1, 0.5};
  });
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(context.params.check(sample).ok());

  study::Proposal proposal;
  proposal.base = base;
  proposal.sample = sample;
  const auto answers = joint.values_of(proposal);
  EXPECT_EQ(answers[3], space::Value(0.5));
  EXPECT_FALSE(answers[4].has_value());
}

TEST(Tpe, ProposesAtRandomUntilEnoughResults) {
  const Context context = small_context(5, false);
  auto model = make(tpe_plugin(), context, {{"startup", 6}});
  auto other = make(tpe_plugin(), context, {{"startup", 7}});
  const auto events = play(*model, 6, Rng(4));
  for (const study::Event& event : events) {
    if (std::holds_alternative<study::Proposed>(event)) {
      EXPECT_EQ(testing::text_of(must(other->suggest({1}))),
                study::proposal_json(std::get<study::Proposed>(event).proposal).dump() + "\n");
    }
    other->observe(event);
  }
  EXPECT_NE(testing::text_of(*model->suggest({1})), testing::text_of(*other->suggest({1})));
}

TEST(Tpe, ProposesGroupAsIfFirstTrialsRun) {
  for (const bool liar : {true, false}) {
    auto strategy = make(tpe_plugin(), small_context(2, false), {{"startup", 5}, {"constant_liar", liar}});
    play(*strategy, 15, Rng(4));
    const auto together = must(strategy->suggest({4}));
    ASSERT_EQ(together.proposals().size(), 4U);
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto one = must(strategy->suggest({1}));
      EXPECT_EQ(study::proposal_json(one.proposals().at(0)), study::proposal_json(together.proposals()[i])) << i;
      strategy->observe(study::Proposed{TrialId{16 + i}, one.proposals()[0]});
    }
  }
}

/// Returns the next momentum of a search for 0.5 with 30 results, while eight trials run at `where`.
double next_with_running(bool liar, double where, std::uint64_t seed) {
  Context context = small_context(seed, false);
  context.params = {};
  context.goals = {{false, "loss"}};
  LANISTA_CHECK(context.params.add({"momentum", space::FloatRange{0, 1, 0, false}, {}}).ok(), "the test's own space");
  auto strategy = make(tpe_plugin(), context, {{"constant_liar", liar}});
  study::Proposal proposal = must(strategy->suggest({1})).proposals().at(0);
  for (std::uint32_t id = 1; id <= 38; ++id) {
    const double x = id <= 30 ? id / 31.0 : where + 0.001 * id;
    proposal.sample["momentum"] = x;
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    if (id > 30) continue;
    strategy->observe(study::Measured{{TrialId{id}, 4, 4, {{"loss", (x - 0.5) * (x - 0.5)}}}});
    strategy->observe(study::Ended{TrialId{id}, {}});
  }
  return std::get<double>(must(strategy->suggest({1})).proposals().at(0).sample.at("momentum"));
}

TEST(Tpe, AvoidsRunningTrials) {
  double honest = 0, lying = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    // Without the constant liar, running trials do not matter.
    EXPECT_EQ(next_with_running(false, 0.48, seed), next_with_running(false, 0.9, seed));
    honest += std::abs(next_with_running(false, 0.48, seed) - 0.5) / 20;
    lying += std::abs(next_with_running(true, 0.48, seed) - 0.5) / 20;
  }
  EXPECT_GT(lying, 1.5 * honest);
}

// Random search reaches -3.1, joint densities -4.6, and separate ones -4.3.
TEST(Tpe, BeatsRandomSearchJointAndIndependent) {
  const double random = toy_result(random_plugin(), Options::object());
  EXPECT_LT(toy_result(tpe_plugin(), Options::object()), random - 0.8);
  EXPECT_LT(toy_result(tpe_plugin(), {{"gamma", "sqrt"}}), random - 0.8);
  EXPECT_LT(toy_result(tpe_plugin(), {{"multivariate", false}}), random - 0.6);
  EXPECT_LT(toy_result(tpe_plugin(), Options::object(), 60, 4), random - 0.8);
}

}  // namespace
}  // namespace lanista::search
