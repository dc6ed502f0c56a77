// successive_halving and hyperband with samplers, compared with their definition.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "lanista/search/halving/per_fold.h"
#include "lanista/search/sampler/repeat.h"
#include "support/search/halving/synchronous_test_support.h"

namespace lanista::search {
namespace {

using study::OutcomeKind;
using namespace testing;

std::unique_ptr<Sampler> sampler_of(const StrategyPlugin& plugin, const Context& context) {
  nlohmann::json options = Options::object();
  if (plugin.name == "gp") options = {{"refit", 20}, {"candidates", 64}, {"fantasies", 4}};
  return must(plugin.make(context, must(resolve_options(options, plugin.options))));
}

std::unique_ptr<Strategy> composed(const StoppingPlugin& halving, const Context& context, const nlohmann::json& options,
                                   const StrategyPlugin& sampler = random_plugin()) {
  return compose(sampler_of(sampler, context), must(rule_of(halving, context, options)));
}

/// Course of a trial, at any speed.
struct TrialScript {
  double quality = 0;
  /// Epoch in which the trial fails before its measurement.
  std::int64_t fails_at = std::numeric_limits<std::int64_t>::max();
};
using TrialScripts = std::function<TrialScript(std::uint32_t)>;

/// An engine without a log: members of groups wait for slots, and trials measure in a random order and pause at their
/// budget.
struct SimulatedStudy {
  struct Trial {
    std::int64_t epoch = 0, budget = 0, full = 0;
    bool paused = false;
    std::optional<OutcomeKind> outcome;
  };
  std::map<TrialId, Trial> trials;
  std::vector<study::Event> events;
  std::int64_t max_waits = 0;
  std::int64_t busiest = 0;

  void run(Strategy& strategy, std::int64_t count, std::int64_t slots, const TrialScripts& trial_scripts, Rng rng) {
    while (true) {
      fill(strategy, count, slots);
      std::vector<TrialId> running;
      for (const auto& [id, trial] : trials) {
        if (!trial.paused && !trial.outcome) running.push_back(id);
      }
      busiest = std::max(busiest, std::ssize(running));
      if (running.empty()) return;
      const TrialId id = running[rng.below(running.size())];
      Trial& trial = trials[id];
      const TrialScript nature = trial_scripts(id.value);
      if (trial.epoch + 1 == nature.fails_at) {
        end(strategy, id, OutcomeKind::kFailed);
        continue;
      }
      ++trial.epoch;
      feed_event(strategy, study::Measured{{id, trial.epoch, trial.epoch, {{"acc", nature.quality}, {"loss", 1}}}});
      EXPECT_EQ(strategy.verdict(id).verdict, study::Verdict::kContinue);
      if (trial.epoch < trial.budget) continue;
      if (trial.budget == trial.full) {
        end(strategy, id, OutcomeKind::kSucceeded);
      } else {
        trial.paused = true;
        feed_event(strategy, study::Paused{id, trial.epoch});
      }
    }
  }

  std::int64_t running() const {
    return std::count_if(trials.begin(), trials.end(),
                         [](const auto& each) { return !each.second.paused && !each.second.outcome; });
  }

 private:
  void feed_event(Strategy& strategy, study::Event event) {
    strategy.observe(event);
    events.push_back(std::move(event));
  }
  void end(Strategy& strategy, TrialId id, OutcomeKind kind) {
    trials[id].outcome = kind;
    trials[id].paused = false;
    study::Outcome outcome;
    outcome.kind = kind;
    feed_event(strategy, study::Ended{id, outcome});
  }
  void take(Strategy& strategy, const Member& member) {
    if (const auto* fresh = std::get_if<NewTrial>(&member)) {
      const TrialId id{static_cast<std::uint32_t>(trials.size() + 1)};
      trials[id] = {0, fresh->proposal.budget, study::full_epochs(fresh->proposal), false, {}};
      feed_event(strategy, study::Proposed{id, fresh->proposal});
    } else if (const auto* resume = std::get_if<ResumeTrial>(&member)) {
      Trial& trial = trials.at(resume->trial);
      ASSERT_TRUE(trial.paused) << "no trial is run twice at a rung";
      ASSERT_GT(resume->budget, trial.epoch);
      ASSERT_LE(resume->budget, trial.full);
      trial.paused = false;
      trial.budget = resume->budget;
      feed_event(strategy, study::Resumed{resume->trial, trial.epoch, resume->budget});
    } else {
      const TrialId id = std::get<StopTrial>(member).trial;
      ASSERT_TRUE(trials.at(id).paused);
      end(strategy, id, OutcomeKind::kStopped);
    }
  }
  void fill(Strategy& strategy, std::int64_t count, std::int64_t slots) {
    std::int64_t waits = 0;
    while (true) {
      const auto can_take = [&](const Member& member) {
        return std::holds_alternative<StopTrial>(member) || running() < slots;
      };
      const auto next = std::find_if(waiting_.begin(), waiting_.end(), can_take);
      if (next != waiting_.end()) {
        const Member member = std::move(*next);
        waiting_.erase(next);
        take(strategy, member);
        if (::testing::Test::HasFatalFailure()) return;
        continue;
      }
      if (running() >= slots) return;
      Capacity capacity;
      capacity.new_trials = count - std::ssize(trials);
      capacity.running = running();
      for (const auto& [id, trial] : trials) capacity.paused += trial.paused ? 1 : 0;
      const auto answer = strategy.suggest(capacity);
      ASSERT_TRUE(answer.ok()) << answer.error().text();
      if (answer->kind == Suggestion::Kind::kWait) max_waits = std::max(max_waits, ++waits);
      if (answer->kind != Suggestion::Kind::kGroup) return;
      ASSERT_LE(std::ssize(answer->proposals()), std::min<std::int64_t>(1, capacity.new_trials));
      waiting_.assign(answer->group.members.begin(), answer->group.members.end());
    }
  }

  std::deque<Member> waiting_;
};

// The definition: the expected outcome of every trial of a study. It shares no code with the rule.

struct ExpectedOutcome {
  std::int64_t epochs = 0;
  OutcomeKind kind = OutcomeKind::kStopped;
  bool operator==(const ExpectedOutcome&) const = default;
};
std::ostream& operator<<(std::ostream& out, const ExpectedOutcome& fate) {
  return out << fate.epochs << " epochs, " << study::outcome_name(fate.kind);
}

/// Successive halving of the trials first, first + 1, ….
void halve(std::map<std::uint32_t, ExpectedOutcome>& fates, std::uint32_t first, std::int64_t n, std::int64_t eta,
           const std::vector<std::int64_t>& rungs, const TrialScripts& trial_scripts) {
  std::vector<std::uint32_t> in;
  for (std::int64_t i = 0; i < n; ++i) in.push_back(first + static_cast<std::uint32_t>(i));
  std::int64_t share = n;
  for (const std::int64_t rung : rungs) {
    share /= eta;
    std::vector<std::uint32_t> there;
    for (const std::uint32_t id : in) {
      const std::int64_t fails = trial_scripts(id).fails_at;
      fates[id] = fails <= rung ? ExpectedOutcome{fails - 1, OutcomeKind::kFailed}
                                : ExpectedOutcome{rung, OutcomeKind::kStopped};
      if (fails <= rung) continue;
      if (rung == rungs.back()) fates[id].kind = OutcomeKind::kSucceeded;
      if (!std::isnan(trial_scripts(id).quality)) there.push_back(id);
    }
    // Repeatedly the best remaining trial; of equal ones the first.
    in.clear();
    while (!there.empty() && std::ssize(in) < std::max<std::int64_t>(1, share)) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < there.size(); ++i) {
        if (trial_scripts(there[i]).quality > trial_scripts(there[best]).quality) best = i;
      }
      in.push_back(there[best]);
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }
}

struct ReferenceImplementation {
  std::int64_t trials;
  std::vector<std::int64_t> rungs;
};

std::map<std::uint32_t, ExpectedOutcome> expected_outcomes_of(const std::vector<ReferenceImplementation>& cycle,
                                                              std::int64_t count, std::int64_t eta,
                                                              const TrialScripts& trial_scripts) {
  std::map<std::uint32_t, ExpectedOutcome> out;
  std::uint32_t first = 1;
  for (std::size_t b = 0; static_cast<std::int64_t>(first) <= count; ++b) {
    const ReferenceImplementation& bracket = cycle[b % cycle.size()];
    const std::int64_t n = std::min(bracket.trials, count + 1 - static_cast<std::int64_t>(first));
    halve(out, first, n, eta, bracket.rungs, trial_scripts);
    first += static_cast<std::uint32_t>(n);
  }
  return out;
}

std::map<std::uint32_t, ExpectedOutcome> expected_outcomes_of(const SimulatedStudy& play) {
  std::map<std::uint32_t, ExpectedOutcome> out;
  for (const auto& [id, trial] : play.trials) {
    const auto rests = trial.paused ? OutcomeKind::kStopped : OutcomeKind::kDuplicate;  // when the study ends
    out[id.value] = {trial.epoch, trial.outcome.value_or(rests)};
  }
  return out;
}

/// Returns scripts with few distinct qualities, so many are equal. Some are NaN, and some trials fail.
TrialScripts random_trial_scripts(std::uint64_t seed, double p_fail, std::int64_t epochs) {
  return [=](std::uint32_t id) {
    Rng rng = Rng(seed).split(id);
    TrialScript out{static_cast<double>(rng.below(12))};
    if (rng.bernoulli(p_fail)) out.fails_at = rng.between(1, epochs);
    if (rng.bernoulli(p_fail / 2)) out.quality = std::nan("");
    return out;
  };
}

const std::vector<ReferenceImplementation> kHyperband27{{27, {1, 3, 9, 27}}, {12, {3, 9, 27}}, {6, {9, 27}}, {4, {27}}};

TEST(Hyperband, MatchesDefinitionInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const std::string brackets = rng.bernoulli(0.5) ? "together" : "in_turn";
    const std::int64_t slots = rng.between(1, 20), count = rng.between(1, 120);
    const TrialScripts trial_scripts = random_trial_scripts(seed, rng.bernoulli(0.5) ? 0 : rng.uniform(0.0, 0.9), 27);
    const auto strategy = composed(hyperband_plugin(), halved_context(seed, 27), {{"brackets", brackets}});
    SimulatedStudy play;
    play.run(*strategy, count, slots, trial_scripts, rng.split("order"));
    ASSERT_FALSE(HasFatalFailure()) << seed;
    EXPECT_EQ(std::ssize(play.trials), count) << seed;
    EXPECT_EQ(expected_outcomes_of(play), expected_outcomes_of(kHyperband27, count, 3, trial_scripts))
        << "seed " << seed << ", " << brackets;
    EXPECT_LE(play.busiest, slots);
    EXPECT_LE(play.max_waits, 1);
  }
}

TEST(SuccessiveHalving, MatchesDefinitionInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed + 100);
    const std::int64_t eta = rng.between(2, 4), epochs = rng.between(eta, 40);
    std::vector<std::int64_t> rungs;
    for (std::int64_t epoch = rng.between(1, 3); epoch < epochs; epoch += rng.between(1, 12)) rungs.push_back(epoch);
    if (rungs.empty()) rungs.push_back(1);
    if (rungs.size() > 4) rungs.resize(4);
    std::int64_t least = 1;
    for (std::size_t i = 0; i < rungs.size(); ++i) least *= eta;
    const std::int64_t n = least + rng.between(0, 30), slots = rng.between(1, 9), count = rng.between(1, 2 * n + 9);
    const TrialScripts trial_scripts = random_trial_scripts(seed, rng.bernoulli(0.5) ? 0 : 0.3, epochs);
    const auto strategy = composed(successive_halving_plugin(), halved_context(seed, epochs),
                                   {{"rungs", rungs}, {"eta", eta}, {"trials", n}});
    SimulatedStudy play;
    play.run(*strategy, count, slots, trial_scripts, rng.split("order"));
    ASSERT_FALSE(HasFatalFailure()) << seed;
    rungs.push_back(epochs);
    EXPECT_EQ(expected_outcomes_of(play), expected_outcomes_of({{n, rungs}}, count, eta, trial_scripts))
        << "seed " << seed;
  }
}

TEST(Hyperband, StopsAfterConfiguredCycles) {
  for (const char* brackets : {"together", "in_turn"}) {
    const TrialScripts trial_scripts = random_trial_scripts(7, 0.2, 27);
    const auto strategy = composed(hyperband_plugin(), halved_context(7, 27), {{"brackets", brackets}, {"cycles", 2}});
    SimulatedStudy play;
    play.run(*strategy, 100'000, 5, trial_scripts, Rng(1));
    EXPECT_EQ(play.trials.size(), 98U);
    EXPECT_EQ(expected_outcomes_of(play), expected_outcomes_of(kHyperband27, 98, 3, trial_scripts)) << brackets;
    EXPECT_EQ(strategy->suggest({4})->kind, Suggestion::Kind::kSpaceExhausted);
  }
}

TEST(Hyperband, FillsSlotsFromNextBracketUnlessSequential) {
  for (const bool together : {true, false}) {
    const auto strategy = composed(hyperband_plugin(), halved_context(3, 27),
                                   {{"brackets", together ? "together" : "in_turn"}, {"cycles", 2}});
    SimulatedStudy play;
    play.run(*strategy, 1000, 40, random_trial_scripts(3, 0, 27), Rng(1));
    std::set<std::uint32_t> open;  // trials of the first bracket that have not ended
    for (std::uint32_t id = 1; id <= 27; ++id) open.insert(id);
    bool overlap = false;
    for (const study::Event& event : play.events) {
      if (const auto* ended = std::get_if<study::Ended>(&event)) open.erase(ended->trial.value);
      const auto* proposed = std::get_if<study::Proposed>(&event);
      if (proposed != nullptr && proposed->trial.value > 27) overlap = overlap || !open.empty();
    }
    EXPECT_EQ(overlap, together);
    EXPECT_EQ(play.busiest, together ? 40 : 27);
  }
}

TEST(Hyperband, PromotesRungAsGroupAndStopsTheRest) {
  const auto strategy = composed(successive_halving_plugin(), halved_context(3, 4), {{"eta", 2}, {"trials", 5}});
  const std::vector<double> values{1, 5, 5, 2, 9};
  for (std::uint32_t id = 1; id <= 5; ++id) {
    const auto group = must(strategy->suggest({1}));
    ASSERT_EQ(group.proposals().size(), 1U);
    EXPECT_EQ(group.proposals()[0].budget, 1);
    EXPECT_EQ(study::full_epochs(group.proposals()[0]), 4);
    strategy->observe(study::Proposed{TrialId{id}, group.proposals()[0]});
  }
  for (std::uint32_t id = 1; id <= 5; ++id) {
    EXPECT_EQ(must(strategy->suggest({.free_slots = 1, .new_trials = 0, .running = 1})).kind,
              Suggestion::Kind::kSpaceExhausted);
    strategy->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", values[id - 1]}}}});
    strategy->observe(study::Paused{TrialId{id}, 1});
  }
  const auto group = must(strategy->suggest({1})).group;
  ASSERT_EQ(group.members.size(), 5U);
  std::vector<std::uint32_t> resumed, stopped;
  for (const Member& member : group.members) {
    if (const auto* resume = std::get_if<ResumeTrial>(&member)) {
      EXPECT_EQ(resume->budget, 2);
      resumed.push_back(resume->trial.value);
    } else {
      stopped.push_back(std::get<StopTrial>(member).trial.value);
    }
  }
  EXPECT_EQ(resumed, (std::vector<std::uint32_t>{5, 2}));
  EXPECT_EQ(stopped, (std::vector<std::uint32_t>{1, 3, 4}));
}

/// Returns a context with a space of `count` points, all of different quality.
Context points(std::int64_t count, std::int64_t epochs) {
  Context context = halved_context(1, epochs);
  std::vector<space::Value> values;
  for (std::int64_t i = 1; i <= count; ++i) values.emplace_back(0.001 * static_cast<double>(i));
  context = small_context(1, false);
  context.epochs = epochs;
  context.goals = {{true, "acc"}};
  context.params = {};
  LANISTA_CHECK(context.params.add({"lr", space::Categorical{values}, {}}).ok(), "the test's own space");
  return context;
}

TEST(Hyperband, ContinuesWithPartialBracketWhenExhausted) {
  for (const char* name : {"grid", "random"}) {
    for (std::int64_t count = 1; count <= 45; ++count) {
      const auto plugins = builtin_strategies();
      const auto plugin = std::find_if(plugins.begin(), plugins.end(), [&](const auto& p) { return p.name == name; });
      const auto strategy = composed(hyperband_plugin(), points(count, 9), Options::object(), *plugin);
      const TrialScripts trial_scripts = random_trial_scripts(static_cast<std::uint64_t>(count), 0.1, 9);
      SimulatedStudy play;
      play.run(*strategy, 1000, 1 + count % 4, trial_scripts, Rng(5));
      ASSERT_FALSE(HasFatalFailure());
      EXPECT_EQ(std::ssize(play.trials), count);
      EXPECT_EQ(expected_outcomes_of(play),
                expected_outcomes_of({{9, {1, 3, 9}}, {5, {3, 9}}, {3, {9}}}, count, 3, trial_scripts))
          << count;
    }
  }
}

class EverySamplerHalved : public testing::SamplerTest {};

TEST_P(EverySamplerHalved, ReplaysItsBrackets) {
  for (const double p_fail : {0.0, 0.3}) {
    Context context = halved_context(4, 9);
    context.goals.push_back({false, "loss"});
    const TrialScripts trial_scripts = random_trial_scripts(4, p_fail, 9);
    const auto live = composed(hyperband_plugin(), context, Options::object(), plugin());
    SimulatedStudy play;
    play.run(*live, 40, 5, trial_scripts, Rng(8));
    ASSERT_FALSE(HasFatalFailure());
    const auto asked = composed(hyperband_plugin(), context, Options::object(), plugin());
    const auto resumed = composed(hyperband_plugin(), context, Options::object(), plugin());
    testing::expect_replays(*live, play.events, *asked, *resumed);
    std::int64_t whole = 0;
    for (const auto& [id, trial] : play.trials) {
      EXPECT_TRUE(trial.outcome) << id.value;
      whole += trial.outcome == OutcomeKind::kSucceeded ? 1 : 0;
    }
    if (p_fail == 0) {
      EXPECT_EQ(whole, 1 + 1 + 3 + 1 + 1 + 3 + 1);  // brackets of 9, 5, 3 twice, and six of the next
    }
  }
}

std::vector<std::string> samplers_with_mutations() {
  std::vector<std::string> out;
  for (const StrategyPlugin& plugin : builtin_strategies()) {
    if (plugin.name != "grid") out.push_back(plugin.name);  // it has a space without mutations, tested above
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(Builtin, EverySamplerHalved, ::testing::ValuesIn(samplers_with_mutations()),
                         [](const auto& instance) { return instance.param; });

TEST(Hyperband, HalvesTrainingsPerFold) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const Context context = halved_context(seed, 9);
    study::StudyConfig config;
    config.data.folds = 3;
    config.strategy.retry = rng.between(0, 2);
    config.goals = context.goals;
    std::vector<std::unique_ptr<Halving>> rules;
    const std::string brackets = rng.bernoulli(0.5) ? "together" : "in_turn";
    const std::int64_t cycles = rng.between(0, 1);
    for (int fold = 0; fold < 3; ++fold) {
      rules.push_back(must(rule_of(hyperband_plugin(), context, {{"brackets", brackets}, {"cycles", cycles}})));
    }
    const auto strategy = compose(with_repeated_trainings(sampler_of(random_plugin(), context), config),
                                  halving_per_fold(std::move(rules)));
    SimulatedStudy play;
    play.run(*strategy, 80, rng.between(1, 9), random_trial_scripts(seed, seed % 2 == 0 ? 0.0 : 0.2, 9),
             rng.split("order"));
    ASSERT_FALSE(HasFatalFailure()) << seed;
    const bool none_fails = seed % 2 == 0;
    if (cycles == 0 || none_fails) {
      EXPECT_EQ(std::ssize(play.trials), cycles == 1 ? 51 : 80) << seed;
    }
    std::map<std::int64_t, std::map<std::int64_t, int>> reached;  // by fold, then first budget
    for (const study::Event& event : play.events) {
      const auto* proposed = std::get_if<study::Proposed>(&event);
      if (proposed != nullptr) ++reached[proposed->proposal.fold.value_or(-1)][proposed->proposal.budget];
    }
    if (cycles == 1 && none_fails) {  // a repeated training has a place
      for (const std::int64_t fold : {0, 1, 2}) {
        EXPECT_EQ(reached[fold], (std::map<std::int64_t, int>{{1, 9}, {3, 5}, {9, 3}})) << seed << " " << fold;
      }
    }
    for (const auto& [id, trial] : play.trials) EXPECT_TRUE(trial.outcome) << seed << " " << id.value;
  }
}

}  // namespace
}  // namespace lanista::search
