// Events that samplers and halvings receive if the best epoch of a trial is selected.
#include "lanista/search/halving/selected_epoch_events.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/rng.h"
#include "lanista/search/sampler/builtin.h"
#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

study::SelectionRule by_loss() { return {{{false, "val_loss"}}, {}}; }

/// Records the events that it receives.
class RecordingSampler final : public Sampler {
 public:
  explicit RecordingSampler(std::vector<study::Event>& observed_events) : observed_events_(observed_events) {}
  std::string_view name() const override { return "listener"; }
  Result<Suggestion> sample_proposals(std::int64_t) const override { return Suggestion::wait(); }
  void observe(const study::Event& event) override { observed_events_.push_back(event); }

 private:
  std::vector<study::Event>& observed_events_;
};

TEST(SelectedEpochEvents, ReportMetricsOfBestEpochSoFar) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(seed);
    std::vector<study::Event> observed_events;
    auto sampler = with_selected_epochs(std::make_unique<RecordingSampler>(observed_events), by_loss());
    std::map<std::uint32_t, std::vector<double>> losses;
    for (std::uint32_t id = 1; id <= 4; ++id) sampler->observe(study::Proposed{TrialId{id}, {}});
    for (int i = 0; i < 30; ++i) {
      const auto id = static_cast<std::uint32_t>(rng.between(1, 4));
      std::vector<double>& own = losses[id];
      own.push_back(static_cast<double>(rng.between(1, 9)));
      const auto epoch = static_cast<std::int64_t>(own.size());
      const double tag = rng.uniform();
      own.back() += tag / 1e6;
      sampler->observe(study::Measured{
          {TrialId{id}, epoch, 3 * epoch, {{"val_loss", own.back()}, {"epoch", static_cast<double>(epoch)}}}});

      const auto& m = std::get<study::Measured>(observed_events.back()).measurement;
      const auto best = std::min_element(own.begin(), own.end());
      ASSERT_EQ(m.epoch, epoch);
      ASSERT_EQ(m.step, 3 * epoch);
      ASSERT_EQ(m.metrics.at("val_loss"), *best);
      ASSERT_EQ(m.metrics.at("epoch"), static_cast<double>(best - own.begin() + 1)) << "all metrics of that epoch";
    }
  }
}

TEST(SelectedEpochEvents, KeepEventsForLastEpochRule) {
  std::vector<study::Event> observed_events;
  auto inner = std::make_unique<RecordingSampler>(observed_events);
  const Sampler* const same = inner.get();
  EXPECT_EQ(with_selected_epochs(std::move(inner), {}).get(), same);
}

TEST(SelectedEpochEvents, PassHyperParametersToRule) {
  std::vector<study::Event> observed_events;
  study::SelectionRule rule = by_loss();
  rule.constraints = {*study::Constraint::parse("train_loss * lr <= 1")};
  auto sampler = with_selected_epochs(std::make_unique<RecordingSampler>(observed_events), rule);
  study::Proposal proposal;
  proposal.sample["lr"] = 0.5;
  sampler->observe(study::Proposed{TrialId{1}, proposal});
  const auto feed_measurement = [&](std::int64_t epoch, double train, double val) {
    sampler->observe(study::Measured{{TrialId{1}, epoch, epoch, {{"train_loss", train}, {"val_loss", val}}}});
    return std::get<study::Measured>(observed_events.back()).measurement.metrics.at("val_loss");
  };
  EXPECT_EQ(feed_measurement(1, 3, 0.1), 0.1);
  EXPECT_EQ(feed_measurement(2, 2, 0.5), 0.5) << "the first epoch that satisfies the constraint";
  EXPECT_EQ(feed_measurement(3, 4, 0.2), 0.5);
}

Result<std::unique_ptr<Halving>> asha_rule(const study::SelectionRule& keep, const nlohmann::json& options) {
  const StoppingPlugin plugin = asha_plugin();
  return plugin.make({{{false, "val_loss"}}, 9, {}, keep}, *resolve_options(options, plugin.options));
}

TEST(SelectedEpochEvents, DecideComparisonsAtRungs) {
  for (const bool best : {false, true}) {
    auto rule = *asha_rule(best ? by_loss() : study::SelectionRule(), {{"rungs", {2}}, {"eta", 2}});
    const auto last_of = [&](std::uint32_t id, double first, double second) {
      rule->observe(study::Proposed{TrialId{id}, {}});
      rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"val_loss", first}}}});
      rule->observe(study::Measured{{TrialId{id}, 2, 2, {{"val_loss", second}}}});
      return rule->verdict(TrialId{id}).verdict;
    };
    EXPECT_EQ(last_of(1, 5, 3), study::Verdict::kContinue);
    EXPECT_EQ(last_of(2, 1, 4), best ? study::Verdict::kContinue : study::Verdict::kStop);
    EXPECT_EQ(last_of(3, 9, 2), best ? study::Verdict::kStop : study::Verdict::kContinue);
  }
}

TEST(SelectedEpochEvents, ForwardOtherCallsToHalving) {
  auto rule = *asha_rule(by_loss(), {{"rungs", {2}}, {"eta", 2}, {"type", "promotion"}});
  std::vector<study::Proposal> fresh(3);
  for (study::Proposal& proposal : fresh) proposal.budget = 9;
  rule->assign_budgets(fresh);
  EXPECT_EQ(fresh[0].budget, 2);
  EXPECT_EQ(fresh[0].horizon, 9);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    rule->observe(study::Proposed{TrialId{id}, fresh[id]});
    rule->observe(study::Measured{{TrialId{id}, 1, 1, {{"val_loss", id == 1 ? 1.0 : 3.0}}}});
    rule->observe(study::Measured{{TrialId{id}, 2, 2, {{"val_loss", id == 1 ? 4.0 : 2.0}}}});
    rule->observe(study::Paused{TrialId{id}, 2});
  }
  const auto members = rule->advance(5, true).members;
  ASSERT_EQ(members.size(), 1U);
  EXPECT_EQ(std::get<ResumeTrial>(members[0]).trial, TrialId{1}) << "its first epoch was the best of all";
}

}  // namespace
}  // namespace lanista::search
