// Synchronous successive halving without a sampler: failures, cancellations, and rejected options.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "support/search/halving/synchronous_test_support.h"

namespace lanista::search {
namespace {

using study::OutcomeKind;
using namespace testing;

struct HalvingHarness {
  explicit HalvingHarness(const nlohmann::json& options, const Context& context)
      : rule(must(rule_of(successive_halving_plugin(), context, options))) {}
  void begin(std::uint32_t id) {
    std::vector<study::Proposal> fresh(1);
    fresh[0].sample["lr"] = 0.001 * id;
    fresh[0].budget = 9;
    rule->assign_budgets(fresh);
    ASSERT_EQ(fresh.size(), 1U);
    budget[id] = fresh[0].budget;
    rule->observe(study::Proposed{TrialId{id}, fresh[0]});
  }
  void arrive(std::uint32_t id, double acc, double loss = 0) {
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"acc", acc}, {"loss", loss}, {"val_cost", loss}}}});
    rule->observe(study::Paused{TrialId{id}, 1});
  }
  void end(std::uint32_t id, OutcomeKind kind) {
    study::Outcome outcome;
    outcome.kind = kind;
    rule->observe(study::Ended{TrialId{id}, outcome});
  }
  std::vector<std::uint32_t> resumed(bool more = true) const {
    std::vector<std::uint32_t> out;
    const Promotions next = rule->advance(9, more);
    for (const Member& member : next.members) {
      if (const auto* resume = std::get_if<ResumeTrial>(&member)) out.push_back(resume->trial.value);
    }
    return out;
  }
  std::unique_ptr<Halving> rule;
  std::map<std::uint32_t, std::int64_t> budget;
};
using Ids = std::vector<std::uint32_t>;

TEST(SuccessiveHalving, RanksEndedTrialLastWithoutWaiting) {
  HalvingHarness of({{"rungs", {1}}, {"eta", 2}, {"trials", 4}}, halved_context(1, 9));
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) of.begin(id);
  of.arrive(1, 9);
  of.arrive(2, 3);
  of.end(3, OutcomeKind::kCancelled);
  of.end(1, OutcomeKind::kCancelled);  // the best, while it was paused
  EXPECT_EQ(of.resumed(), Ids{});
  of.end(4, OutcomeKind::kFailed);
  EXPECT_EQ(of.resumed(), Ids{2});
}

TEST(SuccessiveHalving, KeepsPlannedPlacesWhenTrialsFail) {
  HalvingHarness of({{"rungs", {1}}, {"eta", 3}, {"trials", 9}}, halved_context(1, 9));
  for (std::uint32_t id = 1; id <= 9; ++id) of.begin(id);
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) of.end(id, OutcomeKind::kFailed);
  for (const std::uint32_t id : {9U, 8U, 7U, 6U}) of.arrive(id, id);
  of.arrive(5, std::nan(""));
  EXPECT_EQ(of.resumed(), (Ids{9, 8, 7}));
}

TEST(SuccessiveHalving, ReplacesDuplicateInBracket) {
  HalvingHarness of({{"rungs", {1}}, {"eta", 2}, {"trials", 2}, {"brackets", "in_turn"}}, halved_context(1, 9));
  of.begin(1);
  of.begin(2);
  EXPECT_EQ(of.rule->advance(9, true).max_new_trials, 0);
  of.end(2, OutcomeKind::kDuplicate);
  EXPECT_EQ(of.rule->advance(9, true).max_new_trials, 1);
  of.begin(3);
  of.arrive(1, 1);
  EXPECT_EQ(of.resumed(), Ids{});
  of.arrive(3, 2);
  EXPECT_EQ(of.resumed(), Ids{3});
}

TEST(SuccessiveHalving, ClosesRungEarlyOnceNoTrialIsPending) {
  HalvingHarness of({{"rungs", {1}}, {"eta", 2}, {"trials", 8}}, halved_context(1, 9));
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) of.begin(id);
  for (const std::uint32_t id : {1U, 2U, 3U}) of.arrive(id, id);
  EXPECT_EQ(of.resumed(false), Ids{});
  of.arrive(4, 4);
  EXPECT_EQ(of.resumed(true), Ids{});
  EXPECT_EQ(of.resumed(false), (Ids{4, 3}));
  of.rule->observe(study::Resumed{TrialId{4}, 1, 9});
  EXPECT_EQ(of.resumed(true), Ids{3}) << "a bracket that has begun continues";
  of.begin(5);  // the study got more trials: another bracket
  of.arrive(5, 99);
  EXPECT_EQ(of.resumed(true), Ids{3});
}

TEST(SuccessiveHalving, RanksFeasibleTrialsFirst) {
  Context context = halved_context(1, 9);
  context.constraints = {*study::Constraint::parse("val_cost <= lr")};
  HalvingHarness of({{"rungs", {1}}, {"eta", 2}, {"trials", 4}}, context);
  for (const std::uint32_t id : {1U, 2U, 3U, 4U}) of.begin(id);
  of.arrive(1, 9, 0.5);
  of.arrive(2, 1, 0.002);
  of.arrive(3, 2, 0.5);
  of.arrive(4, 8, 0.1);
  EXPECT_EQ(of.resumed(), (Ids{2, 4}));
}

TEST(SuccessiveHalving, PromotesByFrontsWithSeveralGoals) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng(seed);
    Context context = halved_context(seed, 9);
    context.goals.push_back({false, "loss"});
    const auto n = static_cast<std::uint32_t>(rng.between(4, 30));
    HalvingHarness of({{"rungs", {1}}, {"eta", 2}, {"trials", n}}, context);
    std::map<std::uint32_t, std::pair<double, double>> value;
    for (std::uint32_t id = 1; id <= n; ++id) of.begin(id);
    for (std::uint32_t id = 1; id <= n; ++id) {
      value[id] = {static_cast<double>(rng.below(9)), static_cast<double>(rng.below(9))};
      of.arrive(id, value[id].first, value[id].second);
    }
    const Ids went = of.resumed();
    ASSERT_EQ(went.size(), n / 2);
    EXPECT_EQ(std::set<std::uint32_t>(went.begin(), went.end()).size(), went.size());
    // By definition: repeatedly the front of the remaining trials.
    std::map<std::uint32_t, int> front;
    for (int number = 0; front.size() < n; ++number) {
      Ids now;
      for (const auto& [id, v] : value) {
        if (front.contains(id)) continue;
        bool beaten = false;
        for (const auto& [other, w] : value) {
          beaten = beaten || (!front.contains(other) && w.first >= v.first && w.second <= v.second && w != v);
        }
        if (!beaten) now.push_back(id);
      }
      for (const std::uint32_t id : now) front[id] = number;
    }
    int last = 0;
    for (const std::uint32_t id : went) last = std::max(last, front[id]);
    for (const auto& [id, number] : front) {
      if (number < last) {
        EXPECT_TRUE(std::count(went.begin(), went.end(), id)) << seed;
      }
    }
  }
}

TEST(SynchronousHalving, RejectsInvalidOptions) {
  const auto refused = [](const StoppingPlugin& plugin, const nlohmann::json& options, std::int64_t epochs) {
    const auto resolved = resolve_options(options, plugin.options);
    if (!resolved) return resolved.error().where + ": " + resolved.error().message;
    const auto rule = plugin.make({{{true, "m"}}, epochs, {}}, *resolved);
    return rule ? std::string("accepted") : rule.error().where + ": " + rule.error().message;
  };
  const StoppingPlugin halving = successive_halving_plugin(), hyperband = hyperband_plugin();
  EXPECT_EQ(refused(hyperband, {{"min", 4}}, 9),
            "min: min is 4; with eta 3 and the trial's 9 epochs it must be at most 3, so that a rung lies below them");
  EXPECT_EQ(refused(hyperband, Options::object(), 2),
            "min: min is 1; with eta 3 trials need at least 3 epochs, these have 2");
  EXPECT_EQ(refused(halving, {{"min", 20}}, 9),
            "min: min is 20; with eta 3 and the trial's 9 epochs it must be at most 3, so that a rung lies below them");
  EXPECT_EQ(refused(halving, {{"rungs", {1, 9}}}, 9),
            "rungs: rungs is [1,9]; the last must be below the trial's 9 epochs, to which the best train");
  EXPECT_EQ(refused(halving, {{"rungs", {3, 3}}}, 9),
            "rungs: rungs is [3,3]; every rung must be larger than the one before");
  EXPECT_EQ(refused(halving, {{"trials", 8}}, 9),
            "trials: trials is 8; with 3 rungs, the end of training included, and eta 3 it must be at least 9, so that "
            "one reaches the end (0 means that)");
  EXPECT_EQ(refused(halving, {{"trials", 9}}, 9), "accepted");
  const std::map<std::string, int> too_small{{"eta", 1}, {"min", 0}, {"cycles", -1}};
  for (const auto& [name, value] : too_small) {
    for (const StoppingPlugin& plugin : {halving, hyperband}) {
      EXPECT_TRUE(refused(plugin, {{name, value}}, 9).starts_with(name + ": ")) << name;
    }
  }
  EXPECT_TRUE(refused(hyperband, {{"variant", "round"}}, 9).starts_with("variant: "));
}

}  // namespace
}  // namespace lanista::search
