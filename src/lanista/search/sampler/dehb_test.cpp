// DEHB: its brackets, its operators, and whole runs against an independent simulation.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "lanista/search/math/differential_evolution.h"
#include "lanista/search/sampler/dehb_plan.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::must;
using testing::small_context;
using Point = std::vector<double>;

TEST(DehbBrackets, MatchesReferenceTables) {
  const DehbBrackets brackets(1, 3, 81);
  EXPECT_EQ(brackets.budgets, (std::vector<std::int64_t>{1, 3, 9, 27, 81}));
  EXPECT_EQ(brackets.counts,
            (std::vector<std::vector<std::int64_t>>{{81, 27, 9, 3, 1}, {27, 9, 3, 1}, {9, 3, 1}, {6, 2}, {5}}));
  EXPECT_EQ(brackets.populations, (std::vector<std::size_t>{81, 27, 9, 6, 5}));
  EXPECT_EQ(brackets.first_budget(0), 0U);
  EXPECT_EQ(brackets.first_budget(4), 4U);
  EXPECT_EQ(brackets.first_budget(5), 0U);
  EXPECT_TRUE(brackets.promotes(4));
  EXPECT_FALSE(brackets.promotes(5));
}

TEST(DehbBrackets, ComputesBudgetsInIntegers) {
  // Floating-point logarithms give one budget too few for each of these.
  EXPECT_EQ(DehbBrackets(1, 3, 243).budgets.size(), 6U);
  EXPECT_EQ(DehbBrackets(1, 10, 1000).budgets.size(), 4U);
  EXPECT_EQ(DehbBrackets(1, 10, 100).budgets.size(), 3U);
  // Budgets are rounded down. The last one is the whole schedule.
  EXPECT_EQ(DehbBrackets(1, 3, 100).budgets, (std::vector<std::int64_t>{1, 3, 11, 33, 100}));
  EXPECT_EQ(DehbBrackets(2, 3, 10).budgets, (std::vector<std::int64_t>{3, 10}));
  EXPECT_EQ(DehbBrackets(9, 3, 9).budgets, (std::vector<std::int64_t>{9}));
}

TEST(DifferentialEvolution, MutatesCrossesAndRepairs) {
  Rng rng(11);
  std::map<int, int> changed;  // With CR = 1/2: how often so many coordinates come from the mutant.
  double repaired = 0, low = 0;
  for (std::uint64_t round = 0; round < 4000; ++round) {
    Point target(6), a(6), b(6), c(6);
    for (Point* each : {&target, &a, &b, &c}) std::ranges::generate(*each, [&] { return rng.uniform(); });
    const Rng own = Rng(5).split(round);
    const Point all = offspring(target, {&a, &b, &c}, {0.5, 1}, own);
    for (std::size_t k = 0; k < 6; ++k) {
      const double mutant = a[k] + 0.5 * (b[k] - c[k]);
      if (mutant >= 0 && mutant <= 1) {
        EXPECT_DOUBLE_EQ(all[k], mutant);
      } else {
        EXPECT_GE(all[k], 0);
        EXPECT_LT(all[k], 1);
        ++repaired;
        low += all[k] < 0.3 ? 1 : 0;
      }
    }
    const auto differ = [&](const Point& child) {
      return static_cast<int>(6 - std::inner_product(child.begin(), child.end(), target.begin(), 0, std::plus<>(),
                                                     [](double x, double y) { return x == y ? 1 : 0; }));
    };
    EXPECT_EQ(differ(offspring(target, {&a, &b, &c}, {0.5, 0}, own)), 1);
    ++changed[differ(offspring(target, {&a, &b, &c}, {0.5, 0.5}, own))];
  }
  EXPECT_NEAR(low / repaired, 0.3, 0.03);
  EXPECT_EQ(changed[0], 0);
  // One coordinate always, each of the other five with probability 1/2.
  const double binomial[] = {1, 5, 10, 10, 5, 1};
  for (int k = 1; k <= 6; ++k) EXPECT_NEAR(changed[k] / 4000.0, binomial[k - 1] / 32, 0.03) << k;
}

constexpr int kDimension = 5;

Point vector_of(const study::Proposal& proposal) {
  Point out;
  for (int k = 0; k < kDimension; ++k) {
    out.push_back(std::get<double>(proposal.sample.at("x" + std::to_string(k))));
  }
  return out;
}

/// Returns the loss of a configuration at a budget. The order of configurations differs between budgets.
double loss_at(const Point& x, std::int64_t budget) {
  double sum = 0;
  for (std::size_t k = 0; k < x.size(); ++k) sum += (x[k] - 0.4) * (x[k] - 0.4);
  return sum + 0.3 * std::sin(50 * x[0] * static_cast<double>(budget)) / static_cast<double>(budget);
}

/// Trains trials to their budgets and passes the events to a strategy, as an engine does.
struct DehbHarness {
  explicit DehbHarness(Strategy& s) : strategy(s) {}
  struct Trial {
    Point x;
    std::int64_t epoch = 0, budget = 0, full = 0;
    bool paused = false, ended = false;
  };
  Strategy& strategy;
  std::map<TrialId, Trial> trials;

  void feed_event(const study::Event& event) { strategy.observe(event); }
  TrialId begin(const study::Proposal& proposal) {
    const TrialId id{static_cast<std::uint32_t>(trials.size() + 1)};
    trials[id] = {vector_of(proposal), 0, proposal.budget, study::full_epochs(proposal), false, false};
    feed_event(study::Proposed{id, proposal});
    return id;
  }
  void resume(const ResumeTrial& member) {
    Trial& trial = trials.at(member.trial);
    ASSERT_TRUE(trial.paused);
    ASSERT_GT(member.budget, trial.epoch);
    feed_event(study::Resumed{member.trial, trial.epoch, member.budget});
    trial.paused = false;
    trial.budget = member.budget;
  }
  void stop(TrialId id) {
    ASSERT_TRUE(trials.at(id).paused);
    trials.at(id).ended = true;
    trials.at(id).paused = false;
    study::Outcome outcome;
    outcome.kind = study::OutcomeKind::kStopped;
    feed_event(study::Ended{id, outcome});
  }
  /// Trains to the budget.
  void finish(TrialId id, bool fails = false) {
    Trial& trial = trials.at(id);
    study::Outcome outcome;
    if (fails) {
      outcome.kind = study::OutcomeKind::kFailed;
      trial.ended = true;
      return feed_event(study::Ended{id, outcome});
    }
    while (trial.epoch < trial.budget) {
      ++trial.epoch;
      feed_event(study::Measured{{id, trial.epoch, trial.epoch, {{"loss", loss_at(trial.x, trial.epoch)}}}});
    }
    (trial.epoch == trial.full ? trial.ended : trial.paused) = true;
    trial.ended ? feed_event(study::Ended{id, outcome}) : feed_event(study::Paused{id, trial.epoch});
  }
};

/// The populations of the paper with one worker.
struct Simulation {
  struct Individual {
    Point x;
    double loss = 0;
    TrialId id;
  };
  std::vector<std::int64_t> budgets{1, 3, 9};
  std::vector<std::vector<std::optional<Individual>>> populations{std::vector<std::optional<Individual>>(9),
                                                                  std::vector<std::optional<Individual>>(3),
                                                                  std::vector<std::optional<Individual>>(3)};
  std::vector<std::size_t> turn{0, 0, 0};
  std::set<std::pair<std::size_t, TrialId>> trained;

  std::vector<Individual> sorted(std::size_t budget) const {
    std::vector<Individual> out;
    for (const auto& each : populations[budget]) {
      if (each) out.push_back(*each);
    }
    std::ranges::sort(out, {}, [](const Individual& a) { return std::pair(a.loss, a.id); });
    return out;
  }
};

double distance(const Point& a, const Point& b) {
  double most = 0;
  for (std::size_t k = 0; k < a.size(); ++k) most = std::max(most, std::abs(a[k] - b[k]));
  return most;
}

/// Runs `rounds` brackets of R = 9 with one worker and compares every decision. With CR = 0 a child equals its target
/// in all coordinates except one. With F = 0 and CR near 1 it equals a member of the pool.
void expect_as_simulated(double scale, double crossover, int rounds) {
  const Context context = testing::unit_cube(17, kDimension, 9);
  auto strategy = testing::make(dehb_plugin(), context, {{"scale", scale}, {"crossover", crossover}});
  DehbHarness harness(*strategy);
  Simulation sim;
  const std::vector<std::vector<std::int64_t>> counts{{9, 3, 1}, {3, 1}, {3}};
  for (int round = 0; round < rounds; ++round) {
    const auto& bracket = counts[static_cast<std::size_t>(round) % 3];
    for (std::size_t rung = 0; rung < bracket.size(); ++rung) {
      const std::size_t place = 3 - bracket.size() + rung;
      std::vector<Simulation::Individual> promoted_trials;
      if (round < 3 && rung > 0) {
        for (const auto& each : sim.sorted(place - 1)) {
          if (std::ssize(promoted_trials) < bracket[rung] && !sim.trained.contains({place, each.id}))
            promoted_trials.push_back(each);
        }
      }
      // The targets of a rung are assigned when it begins. Its children are made one by one.
      for (std::int64_t i = 0; i < bracket[rung]; ++i) {
        auto& target = sim.populations[place][sim.turn[place]];
        sim.turn[place] = (sim.turn[place] + 1) % sim.populations[place].size();
        auto answer = must(strategy->suggest({1}));
        while (!answer.group.members.empty() && std::holds_alternative<StopTrial>(answer.group.members.front())) {
          EXPECT_GE(round, 3) << "paused trials may continue while brackets promote";
          harness.stop(std::get<StopTrial>(answer.group.members.front()).trial);
          answer.group.members.erase(answer.group.members.begin());
        }
        ASSERT_EQ(answer.group.members.size(), 1U);
        const Member& member = answer.group.members.front();
        TrialId id;
        if (i < std::ssize(promoted_trials)) {
          ASSERT_TRUE(std::holds_alternative<ResumeTrial>(member)) << round << " " << rung << " " << i;
          const auto& resume = std::get<ResumeTrial>(member);
          id = resume.trial;
          EXPECT_EQ(id, promoted_trials[static_cast<std::size_t>(i)].id);
          EXPECT_EQ(resume.budget, sim.budgets[place]);
          harness.resume(resume);
        } else {
          ASSERT_TRUE(std::holds_alternative<NewTrial>(member)) << round << " " << rung << " " << i;
          const study::Proposal& proposal = std::get<NewTrial>(member).proposal;
          EXPECT_EQ(proposal.budget, sim.budgets[place]);
          EXPECT_EQ(proposal.horizon, 9);
          const Point x = vector_of(proposal);
          if (target && crossover == 0) {
            int differ = 0;
            for (int k = 0; k < kDimension; ++k)
              differ +=
                  std::abs(x[static_cast<std::size_t>(k)] - target->x[static_cast<std::size_t>(k)]) > 1e-12 ? 1 : 0;
            EXPECT_EQ(differ, 1) << round << " " << rung << " " << i;
          }
          if (target && crossover == 1) {
            std::vector<Simulation::Individual> pool = sim.sorted(rung == 0 ? place : place - 1);
            if (rung > 0) pool.resize(std::min(pool.size(), static_cast<std::size_t>(bracket[rung])));
            std::erase_if(pool, [&](const auto& each) { return rung == 0 && each.id == target->id; });
            if (pool.size() >= 3) {
              double nearest = 1;
              for (const auto& each : pool) nearest = std::min(nearest, distance(each.x, x));
              EXPECT_LT(nearest, 1e-6) << round << " " << rung << " " << i;
            }
          }
          id = harness.begin(proposal);
        }
        harness.finish(id);
        sim.trained.insert({place, id});
        const Simulation::Individual fresh{harness.trials[id].x, loss_at(harness.trials[id].x, sim.budgets[place]), id};
        if (!target || fresh.loss <= target->loss) target = fresh;
      }
    }
  }
}

TEST(Dehb, MatchesSimulation) { expect_as_simulated(0.5, 0, 30); }
TEST(Dehb, MakesChildrenFromBestOfLowerBudget) {
  // Only a few rounds: copies of copies become equal, and duplicates are not proposed.
  expect_as_simulated(1e-9, 1, 9);
}

TEST(Dehb, StopsPausedTrialsAfterLastPromotion) {
  auto strategy = testing::make(dehb_plugin(), testing::unit_cube(3, kDimension, 9));
  DehbHarness harness(*strategy);
  for (int i = 0; i < 120; ++i) {
    for (const Member& member : must(strategy->suggest({1})).group.members) {
      if (const auto* fresh = std::get_if<NewTrial>(&member)) harness.finish(harness.begin(fresh->proposal));
      if (const auto* stop = std::get_if<StopTrial>(&member)) harness.stop(stop->trial);
      if (const auto* resume = std::get_if<ResumeTrial>(&member)) {
        harness.resume(*resume);
        harness.finish(resume->trial);
      }
    }
  }
  std::int64_t paused_trials = 0;
  for (const auto& [id, trial] : harness.trials) paused_trials += trial.paused ? 1 : 0;
  EXPECT_LE(paused_trials, 1);
}

TEST(Dehb, NeverWaitsAndTrainsEachTrialOnce) {
  for (const std::size_t slots : {std::size_t{3}, std::size_t{16}, std::size_t{64}}) {
    auto strategy = testing::make(dehb_plugin(), testing::unit_cube(slots, kDimension, 27));
    DehbHarness harness(*strategy);
    Rng rng(slots);
    std::vector<TrialId> running;
    std::map<std::int64_t, std::int64_t> begun;  // By budget.
    for (int step = 0; step < 900; ++step) {
      while (running.size() < slots) {
        const auto answer = must(strategy->suggest({static_cast<std::int64_t>(slots - running.size())}));
        ASSERT_EQ(answer.kind, Suggestion::Kind::kGroup);
        for (const Member& member : answer.group.members) {
          if (const auto* stop = std::get_if<StopTrial>(&member)) {
            harness.stop(stop->trial);
          } else if (const auto* resume = std::get_if<ResumeTrial>(&member)) {
            harness.resume(*resume);
            running.push_back(resume->trial);
            ++begun[resume->budget];
          } else {
            running.push_back(harness.begin(std::get<NewTrial>(member).proposal));
            ++begun[std::get<NewTrial>(member).proposal.budget];
          }
        }
      }
      const std::size_t k = rng.below(running.size());
      harness.finish(running[k], rng.bernoulli(0.1));
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(k));
    }
    EXPECT_EQ(begun.size(), 4U);
    for (const std::int64_t budget : {1, 3, 9}) EXPECT_GT(begun[budget], begun[budget * 3]);
  }
}

TEST(Dehb, BeatsRandomSearchOnHyperbandBudgets) {
  double best = 0, random_best = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    auto strategy = testing::make(dehb_plugin(), testing::unit_cube(seed, kDimension, 9));
    DehbHarness harness(*strategy);
    double found = 1e9;
    Rng rng(seed);
    double random_loss = 1e9;
    for (int i = 0; i < 300; ++i) {
      for (const Member& member : must(strategy->suggest({1})).group.members) {
        if (const auto* stop = std::get_if<StopTrial>(&member)) harness.stop(stop->trial);
        TrialId id;
        if (const auto* fresh = std::get_if<NewTrial>(&member)) id = harness.begin(fresh->proposal);
        if (const auto* resume = std::get_if<ResumeTrial>(&member)) harness.resume(*resume), id = resume->trial;
        if (id == TrialId{}) continue;
        harness.finish(id);
        if (harness.trials[id].epoch == 9) found = std::min(found, loss_at(harness.trials[id].x, 9));
      }
      Point x(kDimension);
      std::ranges::generate(x, [&] { return rng.uniform(); });
      random_loss = std::min(random_loss, loss_at(x, 9));  // All trials have the full budget.
    }
    best += found / 20;
    random_best += random_loss / 20;
  }
  EXPECT_LT(best, 0.6 * random_best);
}

TEST(Dehb, IsRejectedWithStoppingRuleOrRepeats) {
  study::StudyConfig config;
  EXPECT_FALSE(own_halving_conflict(dehb_plugin(), config));
  config.stop.rule = "asha";
  EXPECT_EQ(own_halving_conflict(dehb_plugin(), config)->where, "stop.rule");
  EXPECT_FALSE(own_halving_conflict(random_plugin(), config));
  config.stop.rule = "none";
  config.strategy.repeat = 2;
  EXPECT_EQ(own_halving_conflict(dehb_plugin(), config)->where, "strategy.repeat");
  config.strategy.repeat = 1;
  config.data.folds = 3;
  EXPECT_EQ(own_halving_conflict(dehb_plugin(), config)->where, "data.folds");
}

}  // namespace
}  // namespace lanista::search
