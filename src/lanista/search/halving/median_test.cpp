#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "lanista/search/sampler/builtin.h"

namespace lanista::search {
namespace {

using study::OutcomeKind;
using study::Verdict;

class Median : public ::testing::Test {
 protected:
  static Result<std::unique_ptr<Halving>> make(const nlohmann::json& options, std::vector<study::Goal> goals) {
    const StoppingPlugin plugin = median_plugin();
    const auto resolved = resolve_options(options, plugin.options);
    LANISTA_CHECK(resolved.ok(), resolved ? "" : resolved.error().text());
    return plugin.make({std::move(goals), 9, {}}, *resolved);
  }
  void begin(const nlohmann::json& options, bool maximize = false) { rule = *make(options, {{maximize, "m"}}); }
  Verdict report(std::uint32_t trial, std::int64_t epoch, double value) {
    rule->observe(study::Measured{{TrialId{trial}, epoch, epoch, {{"m", value}}}});
    return rule->verdict(TrialId{trial}).verdict;
  }
  void end(std::uint32_t trial, OutcomeKind kind = OutcomeKind::kSucceeded) {
    rule->observe(study::Ended{TrialId{trial}, {kind, "", {}, "", {}}});
  }
  void whole(std::uint32_t trial, const std::vector<double>& values, OutcomeKind kind = OutcomeKind::kSucceeded) {
    for (std::size_t i = 0; i < values.size(); ++i) report(trial, static_cast<std::int64_t>(i) + 1, values[i]);
    end(trial, kind);
  }

  std::unique_ptr<Halving> rule;
};

TEST_F(Median, UsesRunningAveragesOfCompleteTrials) {
  begin({{"startup", 2}});
  whole(1, {8, 2});  // averages 8, 5
  whole(2, {6, 6});  // averages 6, 6; medians 7 and 5.5
  EXPECT_EQ(report(3, 1, 7.0), Verdict::kContinue) << "equal to the median is not worse";
  EXPECT_EQ(report(3, 2, 9.0), Verdict::kStop) << "its best is 7, the median 5.5";
  EXPECT_EQ(report(4, 1, 7.5), Verdict::kStop);
  EXPECT_EQ(report(5, 1, 5.0), Verdict::kContinue);
  EXPECT_EQ(report(5, 2, 100.0), Verdict::kContinue) << "its best counts";
}

TEST_F(Median, UsesValuesAtEpochInOptunaMode) {
  begin({{"startup", 2}, {"mode", "optuna"}});
  whole(1, {8, 2});
  whole(2, {6, 6});  // medians 7 and 4
  EXPECT_EQ(report(3, 1, 5.0), Verdict::kContinue);
  EXPECT_EQ(report(3, 2, 6.0), Verdict::kStop);
}

TEST_F(Median, ContinuesBeforeItsEpochAndEnoughTrials) {
  begin({{"startup", 2}, {"min", 2}});
  whole(1, {1, 1});
  EXPECT_EQ(report(2, 2, 5.0), Verdict::kContinue);
  whole(3, {1, 1}, OutcomeKind::kStopped);
  whole(4, {1, 1}, OutcomeKind::kFailed);
  whole(5, {1, 1}, OutcomeKind::kCancelled);
  EXPECT_EQ(report(2, 3, 5.0), Verdict::kContinue) << "one trial is complete";
  whole(6, {1, 1, 1});
  whole(7, {1, 1, 1});
  EXPECT_EQ(report(8, 1, 5.0), Verdict::kContinue) << "before its epoch";
  EXPECT_EQ(report(8, 2, 5.0), Verdict::kStop);
  EXPECT_EQ(report(9, 4, 5.0), Verdict::kContinue) << "no complete trial has this epoch";
}

TEST_F(Median, HandlesMaximizedMetricAndRanksNanLast) {
  begin({{"startup", 1}}, true);
  whole(1, {0.5});
  EXPECT_EQ(report(2, 1, 0.4), Verdict::kStop);
  EXPECT_EQ(report(3, 1, 0.6), Verdict::kContinue);
  EXPECT_EQ(report(4, 1, std::nan("")), Verdict::kStop);
  begin({{"startup", 1}});
  whole(1, {std::nan("")});
  EXPECT_EQ(report(2, 1, 3), Verdict::kContinue);
  EXPECT_EQ(report(3, 1, std::nan("")), Verdict::kContinue) << "as bad as the median";
}

TEST_F(Median, ComparesByFirstGoalOrNamedMetric) {
  const std::vector<study::Goal> goals{{false, "m"}, {true, "n"}};
  EXPECT_TRUE(make({{"on", "n"}}, goals).ok());
  const auto other = make({{"on", "x"}}, goals);
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().where, "on");
  EXPECT_FALSE(make(nlohmann::json::object(), {}).ok());
}

// Compared with sums and medians computed from the whole history for each query.
TEST_F(Median, MatchesDefinitionOnRandomHistories) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Rng rng(seed);
    const bool vizier = rng.bernoulli(0.5);
    const std::int64_t startup = rng.between(1, 4), first = rng.between(1, 3);
    begin({{"startup", startup}, {"min", first}, {"mode", vizier ? "vizier" : "optuna"}});
    std::vector<std::vector<double>> complete;
    int stops = 0;
    for (std::uint32_t trial = 1; trial <= 40; ++trial) {
      std::vector<double> values;
      const std::int64_t length = rng.between(1, 6);
      bool stopped = false;
      while (std::ssize(values) < length && !stopped) {
        values.push_back(static_cast<double>(rng.below(8)));
        const std::size_t n = values.size();
        std::vector<double> others;
        for (const auto& other : complete) {
          if (other.size() < n) continue;
          double sum = 0;
          for (std::size_t i = 0; i < n; ++i) sum += other[i];
          others.push_back(vizier ? sum / static_cast<double>(n) : other[n - 1]);
        }
        std::sort(others.begin(), others.end());
        const bool asked = std::ssize(others) >= startup && std::ssize(values) >= first;
        const double best = *std::min_element(values.begin(), values.end());
        const double middle = others.empty() ? 0 : (others[(others.size() - 1) / 2] + others[others.size() / 2]) / 2;
        stopped = asked && best > middle;
        stops += stopped ? 1 : 0;
        ASSERT_EQ(report(trial, std::ssize(values), values.back()), stopped ? Verdict::kStop : Verdict::kContinue);
      }
      end(trial, stopped ? OutcomeKind::kStopped : OutcomeKind::kSucceeded);
      if (!stopped) complete.push_back(values);
    }
    EXPECT_GT(stops, 0);
  }
}

}  // namespace
}  // namespace lanista::search
