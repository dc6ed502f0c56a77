#include "lanista/search/halving/asha.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "lanista/search/sampler/builtin.h"
#include "lanista/search/study/pareto.h"

namespace lanista::search {
namespace {

using study::Verdict;

std::unique_ptr<Halving> make_rule(const nlohmann::json& options, const HalvingContext& judged) {
  const StoppingPlugin plugin = asha_plugin();
  const auto resolved = resolve_options(options, plugin.options);
  LANISTA_CHECK(resolved.ok(), resolved ? "" : resolved.error().text());
  auto rule = plugin.make(judged, *resolved);
  LANISTA_CHECK(rule.ok(), rule ? "" : rule.error().text());
  return *std::move(rule);
}
std::unique_ptr<Halving> make_rule(const nlohmann::json& options, std::int64_t epochs = 9, bool maximize = true) {
  return make_rule(options, {{{maximize, "m"}}, epochs, {}});
}

Verdict report(Halving& rule, std::uint32_t trial, std::int64_t epoch, double value) {
  rule.observe(study::Measured{{TrialId{trial}, epoch, epoch, {{"m", value}}}});
  return rule.verdict(TrialId{trial}).verdict;
}

/// Returns the last epoch that a trial may train before its next verdict.
std::int64_t through(const Halving& rule, std::uint32_t trial, std::int64_t budget = 9) {
  return std::min(rule.verdict(TrialId{trial}).through, budget);
}

TEST(GeometricRungs, CountExactPowersThatLogarithmsMiss) {
  EXPECT_EQ(geometric_rungs(1, 3, 243), (std::vector<std::int64_t>{1, 3, 9, 27, 81, 243}));
  EXPECT_EQ(geometric_rungs(1, 10, 1000), (std::vector<std::int64_t>{1, 10, 100, 1000}));
  EXPECT_EQ(geometric_rungs(1, 10, 100), (std::vector<std::int64_t>{1, 10, 100}));
  EXPECT_EQ(geometric_rungs(1, 3, 81).size(), 5U);
}

TEST(GeometricRungs, EndAtTheMaximumAndIncreaseStrictly) {
  EXPECT_EQ(geometric_rungs(1, 3, 100), (std::vector<std::int64_t>{1, 3, 9, 27, 81, 100}));
  EXPECT_EQ(geometric_rungs(5, 2, 5), (std::vector<std::int64_t>{5}));
  EXPECT_EQ(geometric_rungs(2, 2, 3), (std::vector<std::int64_t>{2, 3}));
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  const auto rungs = geometric_rungs(1, 10, huge);
  EXPECT_EQ(rungs.size(), 20U);
  EXPECT_TRUE(std::is_sorted(rungs.begin(), rungs.end()));
}

TEST(Asha, PromotesFirstResultAtRung) {
  auto rule = make_rule({{"rungs", {1, 3}}});
  EXPECT_EQ(report(*rule, 1, 1, -5), Verdict::kContinue);
}

TEST(Asha, CountsNewValueAmongBestFloorNOverEta) {
  // History {2, 4}, maximise, eta 2, new value 3: floor(3 / 2) = 1, and 4 is better.
  auto rule = make_rule({{"rungs", {1}}, {"eta", 2}});
  EXPECT_EQ(report(*rule, 1, 1, 2), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 2, 1, 4), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 3, 1, 3), Verdict::kStop);
  EXPECT_EQ(report(*rule, 4, 1, 3.5), Verdict::kContinue);  // 2nd of 4
}

TEST(Asha, MatchesCountingOnRandomHistories) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const std::int64_t eta = rng.between(2, 4);
    auto rule = make_rule({{"rungs", {1}}, {"eta", eta}}, 9, false);
    std::vector<double> seen;
    for (std::uint32_t trial = 1; trial <= 200; ++trial) {
      const double value = static_cast<double>(rng.below(40));  // many ties
      std::int64_t rank = 1;
      for (const double other : seen) rank += other < value ? 1 : 0;
      seen.push_back(value);
      const auto places = std::max<std::int64_t>(1, static_cast<std::int64_t>(seen.size()) / eta);
      EXPECT_EQ(report(*rule, trial, 1, value), rank <= places ? Verdict::kContinue : Verdict::kStop);
    }
  }
}

TEST(Asha, RanksNanAndMissingMetricLast) {
  auto rule = make_rule({{"rungs", {1}}, {"eta", 2}});
  EXPECT_EQ(report(*rule, 1, 1, std::numeric_limits<double>::quiet_NaN()), Verdict::kContinue);  // alone
  EXPECT_EQ(report(*rule, 2, 1, -std::numeric_limits<double>::infinity()), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 3, 1, std::numeric_limits<double>::quiet_NaN()), Verdict::kStop);
  rule->observe(study::Measured{{TrialId{4}, 1, 1, {}}});
  EXPECT_EQ(rule->verdict(TrialId{4}).verdict, Verdict::kStop);
}

TEST(Asha, UsesDirectionOfMetricThatIsNotAGoal) {
  for (const auto& [metric, more] : std::map<std::string, bool>{
           {"val_f1_macro", true}, {"val_top3", true}, {"val_log_loss", false}, {"val_rmse", false}}) {
    auto rule = make_rule({{"rungs", {1}}, {"eta", 2}, {"on", metric}});
    for (const std::uint32_t trial : {1U, 2U}) {
      rule->observe(study::Measured{{TrialId{trial}, 1, 1, {{"m", 0}, {metric, trial == 1 ? 0.5 : 0.25}}}});
    }
    EXPECT_EQ(rule->verdict(TrialId{2}).verdict, more ? Verdict::kStop : Verdict::kContinue) << metric;
  }
}

TEST(Asha, PromotesBestTrialInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    auto rule = make_rule({{"min", 1}, {"eta", 3}}, 81);
    const auto order = Rng(seed).permutation(81);
    for (const std::uint32_t quality : order) {
      bool alive = true;
      for (const std::int64_t rung : {1, 3, 9, 27}) {
        alive = alive && report(*rule, quality + 1, rung, quality) == Verdict::kContinue;
      }
      if (quality == 80) {
        EXPECT_TRUE(alive) << seed;
      }
    }
  }
}

TEST(Asha, DecidesOnlyAtRungsAndDropsEndedTrials) {
  auto rule = make_rule({{"rungs", {1, 3, 9}}, {"eta", 3}});
  report(*rule, 1, 1, 5);
  EXPECT_EQ(report(*rule, 2, 1, 4), Verdict::kStop);
  rule->observe(study::Ended{TrialId{2}, {}});
  EXPECT_EQ(rule->verdict(TrialId{2}).verdict, Verdict::kContinue);
  EXPECT_EQ(report(*rule, 3, 2, -9), Verdict::kContinue);
  EXPECT_EQ(rule->verdict(TrialId{77}).verdict, Verdict::kContinue);
  EXPECT_EQ(through(*rule, 77), 1);
  EXPECT_EQ(through(*rule, 1), 3);
  report(*rule, 1, 3, 5);
  EXPECT_EQ(through(*rule, 1), 9);
  EXPECT_EQ(through(*rule, 1, 5), 5);
}

TEST(Asha, PromotesEqualResultsInAnyOrder) {
  auto rule = make_rule({{"rungs", {1}}, {"eta", 2}});
  EXPECT_EQ(report(*rule, 1, 1, 4), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 2, 1, 4), Verdict::kContinue);  // two of two are best
  EXPECT_EQ(report(*rule, 3, 1, 3), Verdict::kStop);
  EXPECT_EQ(report(*rule, 4, 1, 4), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 5, 1, 5), Verdict::kContinue);
  EXPECT_EQ(report(*rule, 6, 1, 4), Verdict::kContinue);  // one result is better, three are promoted
}

TEST(BracketShares, MatchHyperband) {
  EXPECT_EQ(bracket_shares(5, 3, 5), (std::vector<std::int64_t>{81, 34, 15, 8, 5}));  // R = 81, r = 1
  EXPECT_EQ(bracket_shares(5, 3, 2), (std::vector<std::int64_t>{81, 34}));
  EXPECT_EQ(bracket_shares(1, 3, 1), (std::vector<std::int64_t>{1}));
  const std::vector<std::int64_t> large = bracket_shares(64, 1'000'000'000, 64);
  EXPECT_EQ(large.size(), 64U);
  EXPECT_GT(*std::min_element(large.begin(), large.end()), 0);
}

study::Proposed proposed(std::uint32_t id) {
  study::Proposal proposal;
  proposal.sample["lr"] = 0.001 * id;
  return {TrialId{id}, proposal};
}

TEST(Asha, SplitsTrialsOverBracketsWithoutFirstRungs) {
  auto rule = make_rule({{"min", 1}, {"eta", 3}, {"brackets", 5}}, 81);
  std::vector<int> begun(5);
  for (std::uint32_t id = 1; id <= 143; ++id) {
    rule->observe(proposed(id));
    const std::vector<std::int64_t> first{1, 3, 9, 27, 81};
    const auto at = std::find(first.begin(), first.end(), through(*rule, id, 81));
    ASSERT_NE(at, first.end());
    ++begun[static_cast<std::size_t>(at - first.begin())];
    if (id == 10) {
      EXPECT_EQ(begun, (std::vector<int>{7, 2, 1, 0, 0}));  // the ten largest of share / (1, 2, 3, ...)
    }
  }
  EXPECT_EQ(begun, (std::vector<int>{81, 34, 15, 8, 5}));
}

TEST(Asha, KeepsTheTrainingsOfAProposalInOneBracket) {
  auto rule = make_rule({{"rungs", {1, 3}}, {"brackets", 3}});
  for (std::uint32_t id = 1; id <= 30; ++id) {
    study::Proposed training = proposed((id + 2) / 3);
    training.trial = TrialId{id};
    training.proposal.repeat = (id - 1) % 3;
    rule->observe(training);
    const std::uint32_t first = id - (id - 1) % 3;
    EXPECT_EQ(through(*rule, id), through(*rule, first)) << id;
  }
}

TEST(Asha, ComparesOnlyTrialsOfOneBracket) {
  auto rule = make_rule({{"rungs", {1, 3}}, {"eta", 3}, {"brackets", 3}});
  // Shares are 9, 5, 3: trials 1, 2, 4 … have all rungs, and trial 2 is the first of the second bracket.
  std::map<std::int64_t, std::vector<std::uint32_t>> by_first;
  for (std::uint32_t id = 1; id <= 17; ++id) {
    rule->observe(proposed(id));
    by_first[through(*rule, id)].push_back(id);
  }
  ASSERT_EQ(by_first[1].size(), 9U);
  ASSERT_EQ(by_first[3].size(), 5U);
  ASSERT_EQ(by_first[9].size(), 3U);
  EXPECT_EQ(report(*rule, by_first[1][0], 1, 9), Verdict::kContinue);
  EXPECT_EQ(report(*rule, by_first[1][0], 3, 9), Verdict::kContinue);
  EXPECT_EQ(report(*rule, by_first[1][1], 1, 8), Verdict::kStop);
  EXPECT_EQ(report(*rule, by_first[3][0], 1, 1), Verdict::kContinue);  // no rung of its bracket
  EXPECT_EQ(report(*rule, by_first[3][1], 1, 0), Verdict::kContinue);
  EXPECT_EQ(report(*rule, by_first[3][0], 3, 1), Verdict::kContinue);  // the first result at its rung
  EXPECT_EQ(report(*rule, by_first[3][1], 3, 0), Verdict::kStop);
  EXPECT_EQ(report(*rule, by_first[9][0], 3, -5), Verdict::kContinue);
  EXPECT_EQ(through(*rule, by_first[9][0]), 9);
}

TEST(Asha, RanksFeasibleTrialsFirst) {
  const HalvingContext judged{{{true, "m"}}, 9, {*study::Constraint::parse("val_cost <= lr")}};
  auto rule = make_rule({{"rungs", {1}}, {"eta", 2}}, judged);
  const auto feed_measurement = [&](std::uint32_t id, double value, double cost) {
    study::Proposal proposal;
    proposal.sample["lr"] = 0.5;
    rule->observe(study::Proposed{TrialId{id}, proposal});
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"m", value}, {"val_cost", cost}}}});
    return rule->verdict(TrialId{id}).verdict;
  };
  EXPECT_EQ(feed_measurement(1, 9, 0.9), Verdict::kContinue);  // alone
  EXPECT_EQ(feed_measurement(2, 1, 0.1), Verdict::kContinue);  // satisfies the constraints
  EXPECT_EQ(feed_measurement(3, 99, 0.6), Verdict::kStop);
  EXPECT_EQ(feed_measurement(4, 0, 0.1), Verdict::kContinue);  // second of four
  EXPECT_EQ(feed_measurement(5, 99, 0.6), Verdict::kStop);
}

const HalvingContext kTwoGoals{{{true, "good"}, {false, "cost"}}, 27, {}};

TEST(Asha, KeepsTheFrontOfTwoGoals) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    auto rule = make_rule({{"min", 1}, {"eta", 3}}, kTwoGoals);
    std::vector<std::vector<double>> points;
    std::vector<bool> whole;
    for (std::uint32_t id = 1; id <= 60; ++id) {
      const double cost = rng.uniform(), good = rng.uniform() * (0.2 + cost);
      bool alive = true;
      for (const std::int64_t epoch : {1, 3, 9}) {
        if (!alive) break;
        rule->observe(study::Measured{{TrialId{id}, epoch, epoch, {{"good", good}, {"cost", cost}}}});
        alive = rule->verdict(TrialId{id}).verdict == Verdict::kContinue;
      }
      points.push_back({-good, cost});
      whole.push_back(alive);
    }
    const auto fronts = study::non_dominated_ranks(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (fronts[i] == 0) {
        EXPECT_TRUE(whole[i]) << "seed " << seed << ", trial " << i + 1;
      }
    }
    EXPECT_LT(std::count(whole.begin(), whole.end(), true), 40) << seed;
  }
}

/// Returns an epsilon-net by definition: the lowest first loss, then each time the point furthest from those selected.
std::vector<std::vector<double>> net(std::vector<std::vector<double>> front, std::int64_t places) {
  std::sort(front.begin(), front.end());
  std::vector<double> lo = front[0], hi = front[0];
  for (const auto& point : front) {
    for (std::size_t k = 0; k < lo.size(); ++k) lo[k] = std::min(lo[k], point[k]), hi[k] = std::max(hi[k], point[k]);
  }
  std::vector<std::vector<double>> taken{front[0]};
  while (std::ssize(taken) < places) {
    std::size_t best = 0;
    double furthest = -1;
    for (std::size_t i = 0; i < front.size(); ++i) {
      double nearest = std::numeric_limits<double>::infinity();
      for (const auto& other : taken) {
        double sum = 0;
        for (std::size_t k = 0; k < lo.size(); ++k) {
          const double gap = hi[k] > lo[k] ? (front[i][k] - other[k]) / (hi[k] - lo[k]) : 0;
          sum += gap * gap;
        }
        nearest = std::min(nearest, sum);
      }
      if (nearest > furthest + 1e-12) furthest = nearest, best = i;
    }
    taken.push_back(front[best]);
  }
  return taken;
}

TEST(Asha, MatchesFrontsAndEpsilonNetsOnRandomHistories) {
  int cut = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    const std::int64_t eta = rng.between(2, 4);
    auto rule = make_rule({{"rungs", {1}}, {"eta", eta}}, kTwoGoals);
    std::vector<std::vector<double>> points;
    for (std::uint32_t id = 1; id <= 80; ++id) {
      double x = rng.uniform(), y = rng.uniform();
      if (id > 1 && rng.bernoulli(0.1)) {
        const auto& equal = points[rng.below(points.size())];
        x = -equal[0], y = equal[1];
      }
      points.push_back({-x, y});
      rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"good", x}, {"cost", y}}}});
      const auto fronts = study::non_dominated_ranks(points);
      const auto places = std::max<std::int64_t>(1, std::ssize(points) / eta);
      std::int64_t before = 0;
      std::vector<std::vector<double>> own;
      for (std::size_t i = 0; i < points.size(); ++i) {
        before += fronts[i] < fronts.back() ? 1 : 0;
        if (fronts[i] == fronts.back()) own.push_back(points[i]);
      }
      bool is_promoted = fronts.back() == 0 || before + std::ssize(own) <= places;
      if (!is_promoted && before < places) {
        const auto taken = net(own, places - before);
        is_promoted = std::find(taken.begin(), taken.end(), points.back()) != taken.end();
        ++cut;
      }
      const Verdict expected = is_promoted ? Verdict::kContinue : Verdict::kStop;
      EXPECT_EQ(rule->verdict(TrialId{id}).verdict, expected) << seed << " " << id;
    }
  }
  EXPECT_GT(cut, 20);
}

TEST(Asha, RejectsInvalidRungs) {
  const StoppingPlugin plugin = asha_plugin();
  const std::vector<std::pair<nlohmann::json, std::string>> cases{{{{"rungs", {3, 3}}}, "rungs"},
                                                                  {{{"rungs", {9, 1}}}, "rungs"},
                                                                  {{{"min", 20}}, "min"},
                                                                  {{{"rungs", {1, 3}}, {"brackets", 4}}, "brackets"}};
  for (const auto& [options, where] : cases) {
    const auto resolved = resolve_options(options, plugin.options);
    ASSERT_TRUE(resolved.ok());
    const auto rule = plugin.make({{{true, "m"}}, 9, {}}, *resolved);
    ASSERT_FALSE(rule.ok()) << options;
    EXPECT_EQ(rule.error().code, Code::kInvalidArgument);
    EXPECT_EQ(rule.error().where, where);
  }
  EXPECT_FALSE(resolve_options({{"eta", 1}}, plugin.options).ok());
}

}  // namespace
}  // namespace lanista::search
