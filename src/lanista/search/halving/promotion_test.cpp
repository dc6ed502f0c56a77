// The promotion variant of asha with every sampler.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::must;
using testing::small_context;
using testing::text_of;

std::unique_ptr<Halving> promotion(const Context& context, const nlohmann::json& options) {
  const StoppingPlugin plugin = asha_plugin();
  nlohmann::json all = options;
  all["type"] = "promotion";
  return must(
      plugin.make({context.goals, context.epochs, context.constraints}, must(resolve_options(all, plugin.options))));
}

Context long_context(std::uint64_t seed, std::int64_t epochs = 9) {
  Context context = small_context(seed);
  context.epochs = epochs;
  return context;
}

/// Returns the strategy of a sampler and a promotion. With gp, the options reduce its time.
std::unique_ptr<Strategy> composed(const StrategyPlugin& plugin, const Context& context,
                                   const nlohmann::json& halving = {{"eta", 3}}) {
  nlohmann::json options = Options::object();
  if (plugin.name == "gp") options = {{"refit", 20}, {"candidates", 64}, {"fantasies", 4}};
  if (plugin.name == "grid") options = {{"grain", 64}};
  return compose(must(plugin.make(context, must(resolve_options(options, plugin.options)))),
                 promotion(context, halving));
}

/// An engine without a log: trials measure in a random order and pause at their budget.
struct SimulatedStudy {
  struct Trial {
    std::int64_t epoch = 0, budget = 0, full = 0;
    bool paused = false, ended = false;
    double quality = 0;
  };
  std::vector<study::Event> events;
  std::map<TrialId, Trial> trials;
  std::map<std::int64_t, std::vector<double>> seen;  ///< qualities, by epoch
  std::map<std::int64_t, std::int64_t> promoted;     ///< by epoch

  void run(Strategy& strategy, std::int64_t count, std::int64_t slots, double p_fail, Rng rng) {
    const auto feed_event = [&](study::Event event) {
      strategy.observe(event);
      events.push_back(std::move(event));
    };
    while (true) {
      fill(strategy, count, slots, feed_event, rng);
      std::vector<TrialId> running;
      for (const auto& [id, trial] : trials) {
        if (!trial.paused && !trial.ended) running.push_back(id);
      }
      if (running.empty()) return;
      const TrialId id = running[rng.below(running.size())];
      Trial& trial = trials[id];
      if (rng.bernoulli(p_fail)) {
        study::Outcome failed;
        failed.kind = study::OutcomeKind::kFailed;
        trial.ended = true;
        feed_event(study::Ended{id, failed});
        continue;
      }
      ++trial.epoch;
      seen[trial.epoch].push_back(trial.quality);
      const double value = trial.quality + 0.01 * static_cast<double>(trial.epoch);
      feed_event(study::Measured{{id, trial.epoch, trial.epoch, {{"acc", value}, {"loss", 1 - trial.quality}}}});
      EXPECT_EQ(strategy.verdict(id).verdict, study::Verdict::kContinue);
      if (trial.epoch < trial.budget) continue;
      if (trial.budget == trial.full) {
        trial.ended = true;
        feed_event(study::Ended{id, {}});
      } else {
        trial.paused = true;
        feed_event(study::Paused{id, trial.epoch});
      }
    }
  }

 private:
  template <class FeedEvent>
  void fill(const Strategy& strategy, std::int64_t count, std::int64_t slots, const FeedEvent& feed_event, Rng& rng) {
    while (true) {
      Capacity capacity;
      capacity.new_trials = count - std::ssize(trials);
      for (const auto& [id, trial] : trials) {
        capacity.running += !trial.paused && !trial.ended ? 1 : 0;
        capacity.paused += trial.paused ? 1 : 0;
      }
      if (capacity.running >= slots) return;
      const auto answer = strategy.suggest(capacity);
      ASSERT_TRUE(answer.ok()) << answer.error().text();
      if (answer->kind != Suggestion::Kind::kGroup) return;
      ASSERT_EQ(answer->group.members.size(), 1U);
      const Member& member = answer->group.members.front();
      if (const auto* fresh = std::get_if<NewTrial>(&member)) {
        ASSERT_GT(capacity.new_trials, 0);
        const TrialId id{static_cast<std::uint32_t>(trials.size() + 1)};
        trials[id] = {0, fresh->proposal.budget, study::full_epochs(fresh->proposal), false, false, rng.uniform()};
        feed_event(study::Proposed{id, fresh->proposal});
      } else {
        const auto& resume = std::get<ResumeTrial>(member);
        Trial& trial = trials.at(resume.trial);
        ASSERT_TRUE(trial.paused) << "no trial is run twice at a rung";
        ASSERT_GT(resume.budget, trial.epoch);
        ASSERT_LE(resume.budget, trial.full);
        ++promoted[trial.epoch];
        // In the end more than a third of a rung may be promoted, because the best third changes as others arrive. But
        // each promoted trial was in it (Li et al., algorithm 2).
        const std::vector<double>& there = seen[trial.epoch];
        const auto better = std::count_if(there.begin(), there.end(), [&](double q) { return q > trial.quality; });
        ASSERT_LT(better, std::ssize(there) / 3) << "epoch " << trial.epoch;
        trial.paused = false;
        trial.budget = resume.budget;
        feed_event(study::Resumed{resume.trial, trial.epoch, resume.budget});
      }
    }
  }
};

class EverySamplerPromoted : public testing::SamplerTest {};

TEST_P(EverySamplerPromoted, PromotesBestThirdAndReplays) {
  for (const double p_fail : {0.0, 0.1}) {
    const Context context = long_context(4);
    const auto live = composed(plugin(), context);
    SimulatedStudy play;
    play.run(*live, 40, 5, p_fail, Rng(8));
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_EQ(play.trials.size(), 40U);
    EXPECT_GT(play.promoted[1], 5);
    EXPECT_GT(play.promoted[3], 0);

    const auto asked = composed(plugin(), context), resumed = composed(plugin(), context);
    testing::expect_replays(*live, play.events, *asked, *resumed);
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EverySamplerPromoted, ::testing::ValuesIn(testing::plain_sampler_names()),
                         [](const auto& instance) { return instance.param; });

TEST(AshaPromotion, TrainsBestTrialToTheEnd) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Context context = long_context(seed, 27);
    const auto strategy = composed(random_plugin(), context);
    SimulatedStudy play;
    play.run(*strategy, 27, 1, 0, Rng(seed));
    TrialId best;
    for (const auto& [id, trial] : play.trials) {
      if (!best.value || trial.quality > play.trials[best].quality) best = id;
    }
    EXPECT_TRUE(play.trials[best].ended) << "the winner of successive halving, as curves do not cross";
  }
}

/// Returns a halving with trials 1 … n at the first rung, with these values of a maximised goal.
std::unique_ptr<Halving> at_first_rung(const std::vector<double>& values, const Context& context) {
  auto rule = promotion(context, {{"rungs", {1, 3}}, {"eta", 2}});
  for (std::uint32_t id = 1; id <= values.size(); ++id) {
    study::Proposal proposal;
    proposal.sample["lr"] = 0.001 * id;
    proposal.budget = 1;
    proposal.horizon = 9;
    rule->observe(study::Proposed{TrialId{id}, proposal});
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", values[id - 1]}, {"loss", 0}}}});
    rule->observe(study::Paused{TrialId{id}, 1});
  }
  return rule;
}

std::vector<std::uint32_t> resumed(const Halving& rule, std::int64_t count = 9) {
  std::vector<std::uint32_t> out;
  const Promotions next = rule.advance(count, true);
  for (const Member& member : next.members) {
    EXPECT_EQ(std::get<ResumeTrial>(member).budget, 3);
    out.push_back(std::get<ResumeTrial>(member).trial.value);
  }
  return out;
}

TEST(AshaPromotion, PromotesBestHalfRoundedDown) {
  const Context context = long_context(1);
  EXPECT_EQ(resumed(*at_first_rung({4}, context)), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(resumed(*at_first_rung({2, 4, 3}, context)), (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(resumed(*at_first_rung({2, 4, 3, 5}, context)), (std::vector<std::uint32_t>{4, 2}));
  EXPECT_EQ(resumed(*at_first_rung({2, 4, 3, 5}, context), 1), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(resumed(*at_first_rung({7, 7, 7, 7}, context)), (std::vector<std::uint32_t>{1, 2}));  // as proposed
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(resumed(*at_first_rung({nan, 1, nan, nan}, context)), (std::vector<std::uint32_t>{2}));
}

TEST(AshaPromotion, PrefersHighestRungAndPromotesOnce) {
  const Context context = long_context(1);
  auto rule = at_first_rung({4, 3, 2, 1}, context);
  for (const std::uint32_t id : {1U, 2U}) {
    rule->observe(study::Resumed{TrialId{id}, 1, 3});
    EXPECT_EQ(resumed(*rule), id == 1 ? (std::vector<std::uint32_t>{2}) : (std::vector<std::uint32_t>{}));
  }
  for (const std::uint32_t id : {1U, 2U}) {
    rule->observe(study::Measured{{TrialId{id}, 2, 2, {{"acc", 9}, {"loss", 0}}}});
    rule->observe(study::Measured{{TrialId{id}, 3, 3, {{"acc", 9.0 + id}, {"loss", 0}}}});
    rule->observe(study::Paused{TrialId{id}, 3});
  }
  const auto next = rule->advance(5, true).members;
  ASSERT_EQ(next.size(), 1U);
  EXPECT_EQ(std::get<ResumeTrial>(next[0]).trial, TrialId{2});
  EXPECT_EQ(std::get<ResumeTrial>(next[0]).budget, 9);
  rule->observe(study::Ended{TrialId{2}, {}});  // by the user
  EXPECT_TRUE(rule->advance(5, true).members.empty());
}

TEST(AshaPromotion, StartsBracketAtItsFirstRung) {
  const Context context = long_context(1);
  const auto rule = promotion(context, {{"rungs", {1, 3}}, {"eta", 3}, {"brackets", 3}});
  std::vector<study::Proposal> fresh(17);
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    fresh[i].sample["lr"] = 0.001 * static_cast<double>(i + 1);
    fresh[i].budget = 9;
  }
  std::vector<study::Proposal> together = fresh;
  rule->assign_budgets(together);
  std::map<std::int64_t, int> count;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    std::vector<study::Proposal> one{fresh[i]};
    rule->assign_budgets(one);
    EXPECT_EQ(one[0].budget, together[i].budget);
    EXPECT_EQ(study::full_epochs(one[0]), 9);
    rule->observe(study::Proposed{TrialId{static_cast<std::uint32_t>(i + 1)}, one[0]});
    ++count[one[0].budget];
  }
  EXPECT_EQ(count, (std::map<std::int64_t, int>{{1, 9}, {3, 5}, {9, 3}}));
}

}  // namespace
}  // namespace lanista::search
