// Results are compared at equal fidelity only (search/sampler/history.h), in every strategy.
#include <gtest/gtest.h>

#include <numeric>

#include "lanista/search/sampler/history.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::make;
using testing::must;
using testing::small_context;

/// A trial that measured losses[i] at the end of epochs[i] and went no further.
Observation trial(std::uint32_t id, const std::vector<std::int64_t>& epochs, const std::vector<double>& losses) {
  Observation out;
  out.trial = TrialId{id};
  for (std::size_t i = 0; i + 1 < epochs.size(); ++i) out.earlier_epochs.push_back({epochs[i], {losses[i]}, 0});
  out.epoch = epochs.back();
  out.losses = {losses.back()};
  return out;
}

TEST(RanksAtEqualFidelity, MatchPlainOrderAtOneEpoch) {
  std::vector<Observation> trials;
  for (std::uint32_t id = 1; id <= 6; ++id) {
    trials.push_back(trial(id, {4}, {0.1 * (id % 3)}));
    trials.back().losses.push_back(-0.2 * id);
  }
  trials.push_back({});
  std::vector<std::vector<double>> points;
  for (const Observation& t : trials) points.push_back(t.losses);
  EXPECT_EQ(ranks_at_equal_fidelity(trials), study::non_dominated_ranks(points));
}

TEST(RanksAtEqualFidelity, RankLongerTrialBeforeShorterOne) {
  // Losses rise with the epochs, so last losses are not comparable.
  const std::vector<Observation> trials{trial(1, {1, 3, 9}, {0.1, 0.5, 0.9}), trial(2, {1}, {0.2}),
                                        trial(3, {1, 3}, {0.15, 0.6}), trial(4, {1}, {0.3}), Observation{}};
  EXPECT_EQ(ranks_at_equal_fidelity(trials), (std::vector<std::int64_t>{0, 2, 1, 3, 4}));
}

TEST(RanksAtEqualFidelity, RankTrialBeforeUndeservedLongerOnes) {
  // Trial 1 was promoted because it arrived first, and got worse. Trial 3 was stopped, although it was better at that
  // rung.
  const std::vector<Observation> trials{trial(1, {1, 9}, {0.8, 0.7}), trial(2, {1, 9}, {0.2, 0.1}),
                                        trial(3, {1}, {0.3}), trial(4, {1}, {0.9})};
  EXPECT_EQ(ranks_at_equal_fidelity(trials), (std::vector<std::int64_t>{2, 0, 1, 3}));
  // At nine epochs trial 1 is better than trial 2, which was better than trial 3.
  const std::vector<Observation> late{trial(1, {1, 9}, {0.8, 0.05}), trial(2, {1, 9}, {0.2, 0.1}),
                                      trial(3, {1}, {0.3})};
  EXPECT_EQ(ranks_at_equal_fidelity(late), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(RanksAtEqualFidelity, TreatMissingEpochAsGood) {
  const std::vector<Observation> trials{trial(1, {9}, {0.9}), trial(2, {1}, {0.1})};
  EXPECT_EQ(ranks_at_equal_fidelity(trials), (std::vector<std::int64_t>{0, 1}));
}

TEST(RanksAtEqualFidelity, CountConstraintsAtTheSameEpochToo) {
  std::vector<Observation> trials{trial(1, {1, 9}, {0.5, 0.5}), trial(2, {1}, {0.6}), trial(3, {1}, {0.1}),
                                  trial(4, {9}, {0.1})};
  trials[2].violation = 0.5;  // worse than trial 2, which satisfies the constraints
  trials[3].violation = 0.1;
  EXPECT_EQ(ranks_at_equal_fidelity(trials), (std::vector<std::int64_t>{0, 2, 3, 1}));
  EXPECT_EQ(ranks_at_equal_fidelity(trials, rank_by_goals_in_order), (std::vector<std::int64_t>{0, 2, 3, 1}));
}

TEST(RankByGoalsInOrder, BreaksTiesByNextGoalAndRanksNanLast) {
  const double nan = std::nan("");
  const std::vector<EpochLosses> epoch_losses_of_trials{{1, {2, 1}, 0},   {1, {1, 5}, 0}, {1, {1, nan}, 0},
                                                        {1, {nan, 0}, 0}, {1, {0, 0}, 1}, {1, {1, 5}, 0}};
  EXPECT_EQ(rank_by_goals_in_order(epoch_losses_of_trials), (std::vector<std::int64_t>{2, 0, 1, 4, 3, 0}));
}

/// Returns the order of `ranks_at_equal_fidelity` by insertion. Trials are added from the longest on. Each moves up
/// from the end past trials that were worse at its own last epoch.
std::vector<std::size_t> inserted(const std::vector<Observation>& trials, std::int64_t epochs) {
  std::vector<std::size_t> order;
  for (std::int64_t epoch = epochs; epoch >= 1; --epoch) {
    const std::vector<std::size_t> further = order;
    std::vector<std::pair<double, std::size_t>> ended;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (trials[i].epoch == epoch) ended.emplace_back(trials[i].losses[0], i);
    }
    std::sort(ended.begin(), ended.end());
    std::vector<std::vector<std::size_t>> before(further.size() + 1);
    for (const auto& [loss, i] : ended) {
      std::size_t at = further.size();
      while (at > 0 && loss < losses_at(trials[further[at - 1]], epoch)->losses[0]) --at;
      before[at].push_back(i);
    }
    order.clear();
    for (std::size_t at = 0; at <= further.size(); ++at) {
      order.insert(order.end(), before[at].begin(), before[at].end());
      if (at < further.size()) order.push_back(further[at]);
    }
  }
  return order;
}

TEST(RanksAtEqualFidelity, MatchInsertionOneByOne) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    std::vector<Observation> trials;
    const auto n = static_cast<std::uint32_t>(rng.between(1, 30));
    for (std::uint32_t id = 1; id <= n; ++id) {
      const std::int64_t last = rng.between(1, 4);
      std::vector<std::int64_t> epochs(static_cast<std::size_t>(last));
      std::iota(epochs.begin(), epochs.end(), 1);
      std::vector<double> curve;
      for (std::int64_t e = 1; e <= last; ++e) curve.push_back(rng.uniform());
      trials.push_back(trial(id, epochs, curve));
    }
    const std::vector<std::size_t> order = inserted(trials, 4);
    const std::vector<std::int64_t> rank = ranks_at_equal_fidelity(trials);
    for (std::size_t place = 0; place < order.size(); ++place) {
      EXPECT_EQ(rank[order[place]], static_cast<std::int64_t>(place)) << seed;
    }
  }
}

TEST(ModelledEpoch, IsLargestEpochWithEnoughResults) {
  const std::vector<Observation> trials{trial(1, {1, 3, 9}, {1, 1, 1}), trial(2, {1, 3}, {1, 1}), trial(3, {1}, {1}),
                                        trial(4, {1}, {1}), Observation{}};
  std::vector<const Observation*> all;
  for (const Observation& t : trials) all.push_back(&t);
  EXPECT_EQ(modelled_epoch(all, 1), 9);
  EXPECT_EQ(modelled_epoch(all, 2), 3);
  EXPECT_EQ(modelled_epoch(all, 3), 1);
  EXPECT_EQ(modelled_epoch(all, 4), 1);
  EXPECT_EQ(modelled_epoch(all, 5), 1);  // the most there are
  EXPECT_EQ(modelled_epoch({all[0], all[4]}, 5), 9);
  EXPECT_EQ(modelled_epoch({all[4]}, 1), 0);
  Observation lost = trial(6, {1, 3, 9}, {1, 1, 1});
  lost.losses.clear();
  EXPECT_EQ(modelled_epoch({all[2], &lost}, 1), 1);
  EXPECT_EQ(losses_at(trials[0], 3)->epoch, 3);
  EXPECT_FALSE(losses_at(trials[0], 2));
  EXPECT_FALSE(losses_at(trials[1], 9));
}

TEST(History, KeepsAllEpochsUntilTrialFails) {
  const Context context = small_context(1);
  History history(context);
  const auto run = [&](std::uint32_t id, study::OutcomeKind kind) {
    history.observe(study::Proposed{TrialId{id}, {}});
    for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
      const double value = static_cast<double>(epoch);
      history.observe(study::Measured{{TrialId{id}, epoch, epoch, {{"acc", value}, {"loss", 1}}}});
    }
    return history.observe(study::Ended{TrialId{id}, {kind, "", {}, "", {}}});
  };
  std::uint32_t id = 0;
  for (const auto kind : {study::OutcomeKind::kSucceeded, study::OutcomeKind::kStopped}) {
    const auto kept = run(++id, kind);
    EXPECT_EQ(kept->epoch, 3);
    for (const std::int64_t epoch : {1, 2, 3}) {
      ASSERT_TRUE(losses_at(*kept, epoch)) << epoch;
      EXPECT_EQ(losses_at(*kept, epoch)->losses, (std::vector<double>{-static_cast<double>(epoch), 1}));
    }
  }
  for (const auto kind : {study::OutcomeKind::kFailed, study::OutcomeKind::kCancelled}) {
    const auto lost = run(++id, kind);
    ASSERT_TRUE(lost);
    EXPECT_TRUE(lost->losses.empty());
    EXPECT_FALSE(losses_at(*lost, 2));
  }
  EXPECT_FALSE(run(++id, study::OutcomeKind::kDuplicate));  // its result belongs to another trial
}

/// A study of one goal in which losses rise with the epochs, like a training loss with growing regularisation.
///
/// Trial `good` has the lowest loss at epoch 1 and trains to the end. All others are stopped at epoch 1 with a loss
/// that is lower than its last one.
void play_rising(Strategy& strategy, std::uint32_t trials, std::uint32_t good) {
  for (std::uint32_t id = 1; id <= trials; ++id) {
    const study::Proposal proposal = must(strategy.suggest({1})).proposals().at(0);
    strategy.observe(study::Proposed{TrialId{id}, proposal});
    const std::int64_t last = id == good ? 4 : 1;
    for (std::int64_t epoch = 1; epoch <= last; ++epoch) {
      const double loss = (id == good ? 0.1 : 0.2 + 0.01 * id) + static_cast<double>(epoch);
      strategy.observe(study::Measured{{TrialId{id}, epoch, epoch, {{"loss", loss}}}});
    }
    study::Outcome outcome;
    if (id != good) outcome.kind = study::OutcomeKind::kStopped;
    strategy.observe(study::Ended{TrialId{id}, outcome});
  }
}

TEST(EqualFidelity, SelectsParentsOfEveryStrategy) {
  const std::vector<std::pair<StrategyPlugin, nlohmann::json>> all{
      {evolution_plugin(), {{"population", 8}, {"tournament", 8}}},
      {local_search_plugin(), {{"starts", 8}}},
      {nsga2_plugin(), {{"population", 8}, {"p_crossover", 0}}}};
  for (const auto& [plugin, options] : all) {
    Context context = small_context(3);
    context.goals = {{false, "loss"}};
    auto strategy = make(plugin, context, options);
    play_rising(*strategy, 8, 5);
    int from_best = 0, from_others = 0;
    for (std::uint32_t id = 9; id < 39; ++id) {  // these do not end, so that nothing changes
      const study::Proposal proposal = must(strategy->suggest({1})).proposals().at(0);
      if (proposal.parent) (proposal.parent == TrialId{5} ? from_best : from_others) += 1;
      strategy->observe(study::Proposed{TrialId{id}, proposal});
    }
    if (plugin.name == "nsga2") {
      EXPECT_GT(from_best, 3);  // a binary tournament selects it whenever it takes part
    } else {
      EXPECT_EQ(from_others, 0) << plugin.name;
      EXPECT_GT(from_best, 20) << plugin.name;
    }
  }
}

TEST(EqualFidelity, GivesRankStrategiesNoOtherEpochInfo) {
  const std::vector<std::pair<StrategyPlugin, nlohmann::json>> all{{cmaes_plugin(), {{"population", 4}}},
                                                                   {tpe_plugin(), {{"startup", 4}}}};
  for (const auto& [plugin, options] : all) {
    Context context = small_context(3, false);
    context.goals = {{false, "loss"}};
    auto rising = make(plugin, context, options), plain = make(plugin, context, options);
    play_rising(*rising, 8, 3);
    for (std::uint32_t id = 1; id <= 8; ++id) {  // the same order, all at one epoch
      testing::feed_trial(*plain, id, must(plain->suggest({1})).proposals().at(0),
                          {{"loss", id == 3 ? 0.0 : 1.0 * id}});
    }
    EXPECT_EQ(testing::text_of(must(rising->suggest({3}))), testing::text_of(must(plain->suggest({3})))) << plugin.name;
  }
}

TEST(EqualFidelity, RewardsPolicyForLongerTrials) {
  // Widened models train to the end, with a higher loss than those that were stopped at epoch 1.
  Context context = small_context(1);
  context.goals = {{false, "loss"}};
  auto strategy = make(policy_gradient_plugin(), context, {{"mutations", {1, 1}}});
  int early = 0, late = 0;
  for (std::uint32_t id = 1; id <= 120; ++id) {
    const study::Proposal proposal = must(strategy->suggest({1})).proposals().at(0);
    const bool widened = proposal.steps.at(0).mutator == "widen";
    (id <= 40 ? early : late) += id <= 40 || id > 80 ? static_cast<int>(widened) : 0;
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    for (std::int64_t epoch = 1; epoch <= (widened ? 4 : 1); ++epoch) {
      const double loss = static_cast<double>(epoch) - (widened ? 0.5 : 0);
      strategy->observe(study::Measured{{TrialId{id}, epoch, epoch, {{"loss", loss}}}});
    }
    study::Outcome outcome;
    if (!widened) outcome.kind = study::OutcomeKind::kStopped;
    strategy->observe(study::Ended{TrialId{id}, outcome});
  }
  EXPECT_GT(late, early + 5);
}

TEST(Evolution, KeepsSuccessfulParentsDespiteFailures) {
  Context context = small_context(4);
  context.goals = {{false, "loss"}};
  auto strategy = make(evolution_plugin(), context, {{"population", 4}, {"tournament", 4}});
  for (std::uint32_t id = 1; id <= 40; ++id) {
    const study::Proposal proposal = must(strategy->suggest({1})).proposals().at(0);
    strategy->observe(study::Proposed{TrialId{id}, proposal});
    study::Outcome outcome;
    if (id > 4) {
      EXPECT_EQ(proposal.parent, TrialId{2}) << id;
      outcome.kind = id % 2 == 0 ? study::OutcomeKind::kFailed : study::OutcomeKind::kCancelled;
    } else {
      const double loss = id == 2 ? 0.1 : 0.5;
      strategy->observe(study::Measured{{TrialId{id}, 4, 4, {{"loss", loss}}}});
    }
    strategy->observe(study::Ended{TrialId{id}, outcome});
  }
}

}  // namespace
}  // namespace lanista::search
