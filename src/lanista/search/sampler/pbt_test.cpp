#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "lanista/search/sampler/perturbation.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using space::Value;
using testing::must;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// One model, two rates in [0, 1] under names that may change in training.
Context two_rates(std::uint64_t seed, std::int64_t epochs) {
  Context context = testing::small_context(seed, false);
  context.params = {};
  for (const char* name : {"lr", "momentum"}) {
    LANISTA_CHECK(context.params.add({name, space::FloatRange{0, 1, 0, false}, {}}).ok(), "the test's own space");
  }
  context.goals = {{true, "acc"}};
  context.epochs = epochs;
  return context;
}

std::unique_ptr<Strategy> pbt(const Context& context, const nlohmann::json& options) {
  return testing::make(pbt_plugin(), context, options);
}

/// Metrics of a trial: an accuracy from `rng`.
auto random_accuracy(Rng& rng) {
  return [&rng](TrialId, const space::Sample&, std::int64_t) {
    return std::map<std::string, double>{{"acc", rng.uniform()}};
  };
}

/// Trains members in parallel without an engine. The test gives their measurements.
struct PopulationHarness {
  struct PopulationMember {
    space::Sample sample;
    std::int64_t epoch = 0, budget = 0;
    bool ended = false;
  };
  std::vector<study::Event> events;
  std::map<TrialId, PopulationMember> members;

  void feed_event(Strategy& strategy, study::Event event) {
    strategy.observe(event);
    events.push_back(std::move(event));
  }
  void begin(Strategy& strategy, TrialId id, study::Proposal proposal) {
    members[id] = {proposal.sample, 0, proposal.budget};
    feed_event(strategy, study::Proposed{id, std::move(proposal)});
  }
  /// Begins all members that the strategy proposes.
  void begin_all(Strategy& strategy, std::int64_t slots = 100) {
    for (std::uint32_t id = 1; id <= slots; ++id) {
      const auto group = must(strategy.suggest({1, 1000, static_cast<std::int64_t>(id) - 1, 0}));
      if (group.proposals().empty()) return;
      begin(strategy, TrialId{id}, group.proposals().front());
    }
  }
  /// Trains all members to their budgets.
  void train(Strategy& strategy, std::int64_t epochs,
             const std::function<std::map<std::string, double>(TrialId, const space::Sample&, std::int64_t)>& measure) {
    for (auto& [id, member] : members) {
      if (member.ended) continue;
      while (member.epoch < member.budget) {
        ++member.epoch;
        feed_event(strategy,
                   study::Measured{{id, member.epoch, member.epoch, measure(id, member.sample, member.epoch)}});
      }
      if (member.epoch == epochs) {
        member.ended = true;
        feed_event(strategy, study::Ended{id, {}});
      } else {
        feed_event(strategy, study::Paused{id, member.epoch});
      }
    }
  }
  /// Resumes the members that the strategy suggests and returns them.
  std::vector<ResumeTrial> next(Strategy& strategy, std::int64_t new_trials = 1000) {
    const auto paused_trials = static_cast<std::int64_t>(members.size());
    const Suggestion answer = must(strategy.suggest({100, new_trials, 0, paused_trials}));
    std::vector<ResumeTrial> out;
    for (const search::Member& each : answer.group.members) out.push_back(std::get<ResumeTrial>(each));
    for (const ResumeTrial& each : out) {
      PopulationMember& member = members.at(each.trial);
      member.budget = each.budget;
      if (each.fork) member.sample = each.fork->sample;
      feed_event(strategy, study::Resumed{each.trial, member.epoch, each.budget, each.fork});
    }
    return out;
  }
};

double rate(const space::Sample& sample, const char* name) { return std::get<double>(sample.at(name)); }

TEST(PbtQuantile, RoundsUpToAtMostHalf) {
  const std::map<std::pair<std::int64_t, double>, std::int64_t> table{
      {{1, 0.25}, 0}, {{2, 0.25}, 1},   {{3, 0.25}, 1},  {{3, 0.5}, 1},   {{4, 0.25}, 1}, {{5, 0.25}, 2},
      {{8, 0.25}, 2}, {{9, 0.25}, 3},   {{10, 0.2}, 2},  {{20, 0.15}, 3}, {{40, 0.2}, 8}, {{8, 0}, 0},
      {{7, 0.5}, 3},  {{100, 0.07}, 7}, {{80, 0.2}, 16}, {{10, 0.01}, 1}, {{5, 0.5}, 2},  {{30, 0.1}, 3}};
  for (const auto& [asked, size] : table) EXPECT_EQ(pbt_quantile(asked.first, asked.second), size) << asked.first;
}

TEST(Exploration, MultipliesRealNumbersAndClipsThem) {
  Rng rng(1);
  for (int i = 0; i < 400; ++i) {
    const double lo = rng.uniform(0.001, 1), hi = lo + rng.uniform(0.1, 3);
    const space::FloatRange range{lo, hi, 0, rng.bernoulli(0.5)};
    const double value = rng.uniform(lo, hi);
    const double got =
        std::get<double>(explored(range, value, {0, 1.2, 0.8}, rng.split(static_cast<std::uint64_t>(i))));
    EXPECT_TRUE(got == std::min(hi, value * 1.2) || got == std::max(lo, value * 0.8)) << value << " " << got;
  }
  EXPECT_EQ(explored(space::FloatRange{0, 1, 0, false}, 0.0, {0, 1.2, 0.8}, Rng(1)), Value(0.0));
}

TEST(Exploration, StaysOnGridAndMovesIntegersOneStep) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t step = rng.between(1, 5), lo = rng.between(-20, 20), count = rng.between(2, 30);
    const space::IntRange range{lo, lo + step * count, step, false};
    const std::int64_t value = lo + step * rng.between(0, count);
    const auto got =
        std::get<std::int64_t>(explored(range, value, {0, 1.2, 0.8}, rng.split(static_cast<std::uint64_t>(i))));
    EXPECT_TRUE(space::domain_contains(range, got)) << value << " " << got;
    const bool at_an_end = value == lo || value == lo + step * count;
    if (value != 0 && !at_an_end) {
      EXPECT_NE(got, value);
    }
    EXPECT_LE(std::abs(static_cast<double>(got - value)),
              std::max(0.2 * std::abs(static_cast<double>(value)) + 0.5 * static_cast<double>(step),
                       static_cast<double>(step)));
    const space::FloatRange quantised{static_cast<double>(lo), static_cast<double>(lo + count), 0.25, false};
    const Value on = static_cast<double>(lo) + 0.25 * static_cast<double>(rng.between(0, 4 * count));
    EXPECT_TRUE(space::domain_contains(
        quantised, explored(quantised, on, {0, 1.2, 0.8}, rng.split("q").split(static_cast<std::uint64_t>(i)))));
  }
}

TEST(Exploration, MovesToNeighbourAndResamplesNames) {
  const space::Categorical numbers{{Value(1.0), Value(4.0), Value(2.0)}};
  const space::Categorical names{
      {Value(std::string("constant")), Value(std::string("step")), Value(std::string("cosine"))}};
  std::map<std::string, int> seen, sampled_counts;
  constexpr int kTries = 3000;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    ++seen["first " + space::value_text(explored(numbers, 1.0, {0, 1.2, 0.8}, Rng(i)))];
    ++seen["middle " + space::value_text(explored(numbers, 4.0, {0, 1.2, 0.8}, Rng(i)))];
    ++sampled_counts[space::value_text(explored(names, std::string("step"), {0, 1.2, 0.8}, Rng(i)))];
  }
  // Neighbours are those in the list. An end has one neighbour.
  ASSERT_EQ(seen.size(), 4U);
  for (const auto& [what, count] : seen) EXPECT_NEAR(count, kTries / 2, 150) << what;
  ASSERT_EQ(sampled_counts.size(), 3U);
  for (const auto& [what, count] : sampled_counts) EXPECT_NEAR(count, kTries / 3, 150) << what;
}

TEST(Exploration, ResamplesAtConfiguredRate) {
  const space::FloatRange range{0, 1, 0, false};
  int num_neighbours = 0, low = 0;
  constexpr int kTries = 4000;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    const double got = std::get<double>(explored(range, 0.5, {0.25, 1.2, 0.8}, Rng(i)));
    const bool is_neighbour = got == 0.5 * 1.2 || got == 0.5 * 0.8;
    num_neighbours += is_neighbour ? 1 : 0;
    low += !is_neighbour && got < 0.3 ? 1 : 0;
  }
  EXPECT_NEAR(num_neighbours, 0.75 * kTries, 120);
  EXPECT_NEAR(low, 0.25 * 0.3 * kTries, 80);  // Samples are uniform over the domain.
}

TEST(Exploration, FollowsConditions) {
  space::SearchSpace space;
  const Value cosine(std::string("cosine")), constant(std::string("constant"));
  ASSERT_TRUE(space.add({"schedule", space::Categorical{{constant, cosine}}, {}}).ok());
  ASSERT_TRUE(space.add({"warmup_epochs", space::FloatRange{1, 2, 0, false}, {{"schedule", {cosine}}}}).ok());
  std::set<std::size_t> sizes;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const space::Sample got = explored(space, {{"schedule", constant}}, {0.25, 1.2, 0.8}, Rng(i));
    EXPECT_TRUE(space.check(got).ok());
    sizes.insert(got.size());
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{1, 2}));
}

// Every generation by the rule as written: sort, cut, copy, perturb.
TEST(Pbt, ForksFromTopQuantile) {
  Rng rng(3);
  std::int64_t forks = 0, equals = 0;
  for (std::uint64_t round = 0; round < 40; ++round) {
    const std::int64_t size = rng.between(2, 13), epochs = rng.between(3, 7), interval = rng.between(1, 2);
    const double quantile = rng.bernoulli(0.5) ? 0.25 : 0.2;
    const Context context = two_rates(round, epochs);
    const auto strategy =
        pbt(context, {{"population", size}, {"interval", interval}, {"quantile", quantile}, {"resample", 0}});
    PopulationHarness play;
    play.begin_all(*strategy);
    ASSERT_EQ(std::ssize(play.members), size);
    while (true) {
      std::vector<std::pair<double, TrialId>> order;  // By loss, then by trial id.
      std::set<TrialId> failed;
      std::map<TrialId, double> last;
      play.train(*strategy, epochs, [&](TrialId id, const space::Sample&, std::int64_t) {
        const double value = rng.bernoulli(0.1) ? kNan : static_cast<double>(rng.between(0, 5));  // Many ties.
        last[id] = value;
        return std::map<std::string, double>{{"acc", value}};
      });
      const auto before = play.members;
      if (before.begin()->second.ended) break;
      for (const auto& [id, value] : last) {
        if (std::isnan(value)) failed.insert(id);
        if (!std::isnan(value)) order.emplace_back(-value, id);
      }
      std::sort(order.begin(), order.end());
      const auto wanted =
          static_cast<std::size_t>(std::min(std::ceil(std::round(static_cast<double>(size) * quantile * 100) / 100),
                                            std::floor(static_cast<double>(size) / 2)));
      std::set<TrialId> top, bottom = failed;
      for (std::size_t i = 0; i < std::min(wanted, order.size()); ++i) top.insert(order[i].second);
      for (std::size_t i = order.size(); i-- > top.size() && bottom.size() < wanted;) bottom.insert(order[i].second);
      if (top.empty()) bottom.clear();

      const auto resumed = play.next(*strategy);
      ASSERT_EQ(std::ssize(resumed), size);
      std::set<TrialId> forked, gone;
      for (const ResumeTrial& each : resumed) {
        EXPECT_EQ(each.budget, std::min(before.at(each.trial).epoch + interval, epochs));
        gone.insert(each.trial);
        if (!each.fork) continue;
        forked.insert(each.trial);
        EXPECT_FALSE(gone.contains(each.fork->from)) << "it stays paused until all its forks are made";
        EXPECT_TRUE(top.contains(each.fork->from));
        EXPECT_EQ(each.fork->epoch, before.at(each.trial).epoch);
        ASSERT_EQ(each.fork->sample.size(), 2U);
        for (const char* name : {"lr", "momentum"}) {
          const double was = rate(before.at(each.fork->from).sample, name), is = rate(each.fork->sample, name);
          EXPECT_TRUE(is == std::min(1.0, was * 1.2) || is == was * 0.8) << was << " " << is;
          equals += is == 1.0 ? 1 : 0;
        }
      }
      EXPECT_EQ(forked, bottom);
      forks += std::ssize(forked);
    }
    EXPECT_TRUE(must(strategy->suggest({10, 1000, 0, 0})).kind == Suggestion::Kind::kSpaceExhausted);
  }
  EXPECT_GT(forks, 200);
  EXPECT_GT(equals, 0) << "some were clipped";
}

TEST(Pbt, ReplaysItsOwnEvents) {
  const Context context = two_rates(5, 6);
  const nlohmann::json options{{"population", 9}};
  const auto strategy = pbt(context, options);
  PopulationHarness play;
  play.begin_all(*strategy);
  Rng rng(9);
  for (int generation = 0; generation < 5; ++generation) {
    play.train(*strategy, 6, random_accuracy(rng));
    const auto again = pbt(context, options);
    for (const study::Event& event : play.events) again->observe(event);
    const Suggestion suggested = must(strategy->suggest({3, 0, 0, 9})),
                     suggested_again = must(again->suggest({3, 0, 0, 9}));
    ASSERT_EQ(suggested.group.members.size(), 9U);
    ASSERT_EQ(suggested_again.group.members.size(), 9U);
    for (std::size_t i = 0; i < 9; ++i) {
      const auto& a = std::get<ResumeTrial>(suggested.group.members[i]);
      const auto& b = std::get<ResumeTrial>(suggested_again.group.members[i]);
      EXPECT_TRUE(a.trial == b.trial && a.budget == b.budget && a.fork == b.fork);
    }
    play.next(*strategy);
  }
}

TEST(Pbt, RespectsConstraintsKnownBeforeTraining) {
  Context context = two_rates(2, 30);
  context.constraints = {must(study::Constraint::parse("lr * momentum <= 0.3")),
                         must(study::Constraint::parse("lr >= 0.4"))};
  const auto strategy = pbt(context, {{"population", 6}, {"quantile", 0.5}});
  PopulationHarness play;
  play.begin_all(*strategy);
  Rng rng(8);
  int forks = 0;
  for (int generation = 0; generation < 29; ++generation) {
    play.train(*strategy, 30, random_accuracy(rng));
    for (const ResumeTrial& each : play.next(*strategy)) {
      if (!each.fork) continue;
      ++forks;
      EXPECT_LE(rate(each.fork->sample, "lr") * rate(each.fork->sample, "momentum"), 0.3);
      EXPECT_GE(rate(each.fork->sample, "lr"), 0.4);
    }
  }
  EXPECT_EQ(forks, 3 * 29);
}

TEST(Pbt, ToleratesDivergenceWhileOneTrialIsFinite) {
  const Context context = two_rates(1, 4);
  const auto strategy = pbt(context, {{"population", 3}});
  PopulationHarness play;
  play.begin_all(*strategy);
  const auto all_but = [](std::uint32_t good) {
    return [good](TrialId id, const space::Sample&, std::int64_t) {
      return std::map<std::string, double>{{"acc", 0.5}, {"train_loss", id.value == good ? 1 : kNan}};
    };
  };
  play.train(*strategy, 4, all_but(2));
  EXPECT_TRUE(strategy->verdict(TrialId{1}).tolerates_divergence);
  EXPECT_FALSE(strategy->verdict(TrialId{2}).tolerates_divergence) << "no other member is finite";
  const auto resumed = play.next(*strategy);
  ASSERT_EQ(resumed.size(), 3U);
  for (const ResumeTrial& each : resumed) {
    ASSERT_EQ(each.fork.has_value(), each.trial.value != 2) << "all diverged members fork, whatever the quantile";
    if (each.fork) {
      EXPECT_EQ(each.fork->from.value, 2U);
    }
  }
  play.train(*strategy, 4, all_but(0));  // All members diverge.
  for (const ResumeTrial& each : play.next(*strategy)) EXPECT_FALSE(each.fork);
}

TEST(Pbt, ContinuesWithSmallerPopulation) {
  const auto strategy = pbt(two_rates(1, 4), {{"population", 8}});
  PopulationHarness play;
  play.begin_all(*strategy, 4);
  play.train(*strategy, 4, [](TrialId id, const space::Sample&, std::int64_t) {
    return std::map<std::string, double>{{"acc", id.value}};
  });
  EXPECT_FALSE(must(strategy->suggest({4, 10, 0, 4})).proposals().empty()) << "four more members may begin";
  const auto resumed = play.next(*strategy, 0);
  ASSERT_EQ(resumed.size(), 4U);
  EXPECT_EQ(resumed.front().trial.value, 1U);
  EXPECT_EQ(resumed.front().fork->from.value, 4U);
  EXPECT_TRUE(must(strategy->suggest({4, 10, 4, 0})).proposals().empty()) << "the first generation is over";
}

TEST(Pbt, ForksOnlyWithinEqualFixedParameters) {
  Context context = two_rates(4, 8);
  ASSERT_TRUE(
      context.params.add({"batch", space::Categorical{{Value(std::int64_t{16}), Value(std::int64_t{32})}}, {}}).ok());
  const auto strategy = pbt(context, {{"population", 12}, {"fixed", "keep"}, {"quantile", 0.5}, {"resample", 1}});
  PopulationHarness play;
  play.begin_all(*strategy);
  Rng rng(2);
  int forks = 0;
  for (int generation = 0; generation < 7; ++generation) {
    play.train(*strategy, 8, random_accuracy(rng));
    const auto before = play.members;
    for (const ResumeTrial& each : play.next(*strategy)) {
      if (!each.fork) continue;
      ++forks;
      EXPECT_EQ(each.fork->sample.at("batch"), before.at(each.trial).sample.at("batch"));
      EXPECT_EQ(each.fork->sample.at("batch"), before.at(each.fork->from).sample.at("batch"));
    }
  }
  EXPECT_GT(forks, 20);
}

enum class Toy { kGrid, kExploit, kBoth };
/// The toy of the paper (Jaderberg et al. 2017, figure 2). Two members climb 1.2 - h0 x^2 - h1 y^2, each with one of
/// the factors 0, and are compared by 1.2 - x^2 - y^2. Returns the best value.
double toy(Toy how, std::uint64_t seed) {
  constexpr std::int64_t kEpochs = 40;
  const auto strategy = pbt(two_rates(seed, kEpochs), {{"population", 2}});
  PopulationHarness play;
  std::map<TrialId, std::pair<double, double>> theta{{TrialId{1}, {0.9, 0.9}}, {TrialId{2}, {0.9, 0.9}}};
  for (std::uint32_t id = 1; id <= 2; ++id) {
    study::Proposal proposal = must(strategy->suggest({1, 1000, 0, 0})).proposals().front();
    proposal.sample = {{"lr", id == 1 ? 1.0 : 0.0}, {"momentum", id == 1 ? 0.0 : 1.0}};
    play.begin(*strategy, TrialId{id}, proposal);
  }
  const auto value = [&](TrialId id) {
    const auto [x, y] = theta.at(id);
    return 1.2 - x * x - y * y;
  };
  for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
    play.train(*strategy, kEpochs, [&](TrialId id, const space::Sample& h, std::int64_t) {
      auto& [x, y] = theta.at(id);
      for (int step = 0; step < 4; ++step) {
        x -= 0.02 * 2 * rate(h, "lr") * x;
        y -= 0.02 * 2 * rate(h, "momentum") * y;
      }
      return std::map<std::string, double>{{"acc", value(id)}};
    });
    const auto before = play.members;
    const auto states = theta;
    for (const ResumeTrial& each : play.next(*strategy)) {
      if (!each.fork) continue;
      auto& sample = play.members.at(each.trial).sample;
      if (how == Toy::kGrid) sample = before.at(each.trial).sample;
      if (how == Toy::kExploit) sample = before.at(each.fork->from).sample;
      if (how != Toy::kGrid) theta.at(each.trial) = states.at(each.fork->from);
    }
  }
  return std::max(value(TrialId{1}), value(TrialId{2}));
}

TEST(Pbt, SolvesToyProblemOfThePaper) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_GT(toy(Toy::kBoth, seed), 1.1) << seed;
    EXPECT_LT(toy(Toy::kGrid, seed), 0.4) << "1.2 - 0.81 at most";
    EXPECT_LT(toy(Toy::kExploit, seed), 0.4);
  }
}

TEST(Pbt, RejectsFixedParametersByName) {
  study::StudyConfig config;
  config.train.measured.keep = study::kKeepLast;
  config.model.base = {"builtin:small-mlp"};
  EXPECT_FALSE(own_halving_conflict(pbt_plugin(), config));
  const auto refusal = [](const study::StudyConfig& c) {
    return own_halving_conflict(pbt_plugin(), c).value_or(Error{Code::kInternal, "", ""});
  };
  study::StudyConfig kept = config;
  kept.train.measured.keep = study::kKeepBestEpoch;
  EXPECT_EQ(refusal(kept).where, "train.keep");
  study::StudyConfig two = config;
  two.model.base.emplace_back("builtin:small-cnn");
  EXPECT_EQ(refusal(two).where, "model.base");
  two.strategy.options = {{"fixed", "keep"}};
  EXPECT_EQ(refusal(two).where, "");
  study::StudyConfig tuned = config;
  tuned.train.tune.name = "mltuner";
  EXPECT_EQ(refusal(tuned).where, "train.tune");
  study::StudyConfig mutated = config;
  mutated.space.mutate.push_back({"widen", Options::object()});
  EXPECT_EQ(refusal(mutated).where, "space.mutate");
  for (const char* name : {"batch", "optimizer"}) {
    study::StudyConfig varied = config;
    ASSERT_TRUE(
        varied.space.params.add({name, space::Categorical{{Value(std::int64_t{8}), Value(std::int64_t{16})}}, {}})
            .ok());
    const Error suggested = refusal(varied);
    EXPECT_EQ(suggested.where, "space.params");
    EXPECT_NE(suggested.message.find("'" + std::string(name) + "'"), std::string::npos);
    EXPECT_NE(suggested.message.find("lr, momentum"), std::string::npos) << "it names what can";
  }
  study::StudyConfig constant = config;
  ASSERT_TRUE(constant.space.params.add({"optimizer", space::Categorical{{Value(std::string("adam"))}}, {}}).ok());
  EXPECT_FALSE(own_halving_conflict(pbt_plugin(), constant)) << "a constant does not change";
  ASSERT_TRUE(constant.space.params.add({"batch", space::IntRange{8, 16}, {}}).ok());
  EXPECT_NE(refusal(constant).message.find("set one value with data.batch; "), std::string::npos);
  const StrategyPlugin plugin = pbt_plugin();
  const auto made = plugin.make(two_rates(1, 3), must(resolve_options({{"interval", 3}}, plugin.options)));
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().where, "interval");
}

}  // namespace
}  // namespace lanista::search
