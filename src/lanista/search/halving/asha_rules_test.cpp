// Promotion rules of libraries, and the promotions of Li et al., compared with their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "lanista/search/sampler/builtin.h"

namespace lanista::search {
namespace {

Result<std::unique_ptr<Halving>> asha(const nlohmann::json& options, std::int64_t epochs = 9,
                                      std::vector<study::Goal> goals = {{true, "m"}}) {
  const StoppingPlugin plugin = asha_plugin();
  LANISTA_ASSIGN(const Options resolved, resolve_options(options, plugin.options));
  return plugin.make({std::move(goals), epochs, {}}, resolved);
}

/// Returns true if a trial with this value is promoted from epoch 1.
bool is_promoted(Halving& rule, std::uint32_t trial, double value) {
  rule.observe(study::Measured{{TrialId{trial}, 1, 1, {{"m", value}}}});
  return rule.verdict(TrialId{trial}).verdict == study::Verdict::kContinue;
}

TEST(AshaRules, DifferWhereLibrariesDiffer) {
  // The rung has results 2 and 4, larger is better, eta is 2, and the new result is 3.
  const std::map<std::string, bool> wanted{{"count", false}, {"ray", true}, {"syne_tune", true}, {"optuna", false}};
  for (const auto& [mode, third] : wanted) {
    auto rule = *asha({{"rungs", {1}}, {"eta", 2}, {"mode", mode}});
    EXPECT_TRUE(is_promoted(*rule, 1, 2)) << mode << ": the first result is promoted";
    EXPECT_TRUE(is_promoted(*rule, 2, 4)) << mode;
    EXPECT_EQ(is_promoted(*rule, 3, 3), third) << mode;
  }
}

/// Returns numpy.percentile of the values at 1/eta, with linear interpolation. Smaller values are better.
double best_quantile(std::vector<double> values, double eta) {
  std::sort(values.begin(), values.end());
  const double at = static_cast<double>(values.size() - 1) / eta;
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 == values.size()) return values[below];
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

TEST(AshaRules, MatchDefinitionsOnRandomHistories) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const std::int64_t eta = rng.between(2, 5), distinct = rng.between(3, 60);
    auto ray = *asha({{"rungs", {1}}, {"eta", eta}, {"mode", "ray"}});
    auto syne = *asha({{"rungs", {1}}, {"eta", eta}, {"mode", "syne_tune"}});
    std::vector<double> losses;
    for (std::uint32_t trial = 1; trial <= 150; ++trial) {
      const auto loss = static_cast<double>(rng.between(0, distinct));
      const bool by_ray = losses.empty() || loss <= best_quantile(losses, static_cast<double>(eta)) + 1e-12;
      losses.push_back(loss);
      const auto better = std::count_if(losses.begin(), losses.end(), [&](double other) { return other < loss; });
      EXPECT_EQ(is_promoted(*ray, trial, -loss), by_ray) << seed << " " << trial;
      EXPECT_EQ(is_promoted(*syne, trial, -loss), better * eta <= std::ssize(losses)) << seed << " " << trial;
    }
  }
}

TEST(AshaRules, StopFirstTrialsDuringBootstrap) {
  for (const char* mode : {"optuna", "count"}) {
    auto rule = *asha({{"rungs", {1}}, {"eta", 2}, {"mode", mode}, {"bootstrap", 3}});
    for (const std::uint32_t trial : {1U, 2U, 3U}) EXPECT_FALSE(is_promoted(*rule, trial, trial)) << mode;
    EXPECT_TRUE(is_promoted(*rule, 4, 4)) << mode;
    EXPECT_FALSE(is_promoted(*rule, 5, 1)) << mode;
  }
}

TEST(AshaRules, RankInfinityAndNanLast) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const char* mode : {"count", "ray", "syne_tune", "optuna"}) {
    auto rule = *asha({{"rungs", {1}}, {"eta", 2}, {"mode", mode}});
    is_promoted(*rule, 1, -infinity);
    is_promoted(*rule, 2, -infinity);
    EXPECT_TRUE(is_promoted(*rule, 3, 5)) << mode;
    EXPECT_FALSE(is_promoted(*rule, 4, std::nan(""))) << mode;
    EXPECT_TRUE(is_promoted(*rule, 5, 6)) << mode;
  }
}

TEST(AshaRules, RejectGoalsTheyCannotCompare) {
  const auto refused = [](const nlohmann::json& options, std::vector<study::Goal> goals) {
    const auto rule = asha(options, 9, std::move(goals));
    return rule ? std::string("accepted") : rule.error().where + ": " + rule.error().message;
  };
  const std::vector<study::Goal> one{{true, "m"}}, two{{true, "m"}, {false, "n"}};
  EXPECT_EQ(
      refused({{"mode", "ray"}}, two),
      "mode: mode is ray, which compares by one number, and there are 2 goals; name one of them with on, or leave "
      "mode at count");
  EXPECT_EQ(refused({{"mode", "ray"}, {"on", "n"}}, two), "accepted");
  EXPECT_EQ(refused({{"mode", "optuna"}}, two), "accepted");
  EXPECT_EQ(refused({{"mode", "syne_tune"}, {"type", "promotion"}}, one),
            "mode: mode is syne_tune; that is for type: stopping, promotion has one rule");
  EXPECT_EQ(refused({{"bootstrap", 2}, {"type", "promotion"}}, one),
            "bootstrap: bootstrap is 2; that is for type: stopping, promotion has one rule");
}

/// Algorithm 2 of Li et al.; each query searches all results.
struct ReferenceImplementation {
  std::int64_t eta = 3;
  std::vector<std::int64_t> rungs;
  std::map<std::int64_t, std::vector<std::pair<double, std::uint32_t>>> seen;  ///< (loss, trial) by epoch
  std::map<std::uint32_t, std::int64_t> paused;                                ///< paused trials with their epoch

  std::vector<std::uint32_t> promotable() const {
    std::vector<std::uint32_t> out;
    for (std::size_t k = rungs.size(); k-- > 0;) {
      const auto there = seen.find(rungs[k]);
      if (there == seen.end()) continue;
      auto sorted = there->second;
      std::stable_sort(sorted.begin(), sorted.end());
      sorted.resize(static_cast<std::size_t>(std::ssize(sorted) / eta));
      for (const auto& [loss, trial] : sorted) {
        const auto at = paused.find(trial);
        if (at != paused.end() && at->second == rungs[k]) out.push_back(trial);
      }
    }
    return out;
  }
};

TEST(AshaPromotion, MatchesPublishedAlgorithm) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    ReferenceImplementation written{rng.between(2, 4), {1, 3, 9}, {}, {}};
    auto rule = *asha({{"rungs", written.rungs}, {"eta", written.eta}, {"type", "promotion"}}, 27);
    std::map<std::uint32_t, std::int64_t> running, promotions;  // epoch through which they train; how often
    std::uint32_t next = 1;
    for (int event = 0; event < 400; ++event) {
      std::vector<std::uint32_t> asked;
      const Promotions advance = rule->advance(100, true);
      for (const Member& member : advance.members) asked.push_back(std::get<ResumeTrial>(member).trial.value);
      ASSERT_EQ(asked, written.promotable()) << seed << " " << event;
      if (!asked.empty() && rng.bernoulli(0.7)) {
        const std::uint32_t trial = asked.front();
        const std::int64_t epoch = written.paused.at(trial);
        const std::int64_t budget = std::get<ResumeTrial>(advance.members.front()).budget;
        EXPECT_EQ(budget, epoch == 1 ? 3 : epoch == 3 ? 9 : 27);
        rule->observe(study::Resumed{TrialId{trial}, epoch, budget});
        EXPECT_LE(++promotions[trial], 3);
        written.paused.erase(trial);
        running[trial] = budget;
      } else if (running.size() < 6 && rng.bernoulli(0.5)) {
        study::Proposal proposal;
        proposal.sample["lr"] = 0.001 * next;
        proposal.budget = 27;
        std::vector<study::Proposal> fresh{proposal};
        rule->assign_budgets(fresh);
        rule->observe(study::Proposed{TrialId{next}, fresh[0]});
        running[next++] = fresh[0].budget;
      } else if (!running.empty()) {
        const auto it = std::next(running.begin(), static_cast<std::ptrdiff_t>(rng.below(running.size())));
        const auto [trial, budget] = *it;
        running.erase(it);
        if (rng.bernoulli(0.15)) {
          study::Outcome failed;
          failed.kind = study::OutcomeKind::kFailed;
          rule->observe(study::Ended{TrialId{trial}, failed});
          continue;
        }
        const auto loss = static_cast<double>(rng.below(15));
        rule->observe(study::Measured{{TrialId{trial}, budget, budget, {{"m", -loss}}}});
        if (budget == 27) {
          rule->observe(study::Ended{TrialId{trial}, {}});
          continue;
        }
        written.seen[budget].emplace_back(loss, trial);
        rule->observe(study::Paused{TrialId{trial}, budget});
        written.paused[trial] = budget;
      }
    }
  }
}

// The number of promotions may exceed floor(n / eta), a bound that is sometimes quoted: the best trials change as
// others arrive.
TEST(AshaPromotion, PromotesWithinBoundsOfArrivalOrder) {
  auto rule = *asha({{"rungs", {1}}, {"eta", 2}, {"type", "promotion"}});
  int promoted = 0;
  for (std::uint32_t trial = 1; trial <= 4; ++trial) {  // each better than those before
    rule->observe(study::Proposed{TrialId{trial}, {}});
    rule->observe(study::Measured{{TrialId{trial}, 1, 1, {{"m", trial}}}});
    rule->observe(study::Paused{TrialId{trial}, 1});
    const Promotions advance = rule->advance(9, true);
    for (const Member& member : advance.members) {
      rule->observe(study::Resumed{std::get<ResumeTrial>(member).trial, 1, 9});
      ++promoted;
    }
  }
  EXPECT_EQ(promoted, 3);
}

}  // namespace
}  // namespace lanista::search
