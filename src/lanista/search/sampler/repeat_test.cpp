#include "lanista/search/sampler/repeat.h"

#include <map>

#include <gtest/gtest.h>

#include "support/search/sampler/test_support.h"

namespace lanista::search {
namespace {

using testing::must;
using testing::small_context;
using testing::small_rule;
using testing::text_of;

study::StudyConfig asked(std::int64_t repeat, std::int64_t retry) {
  study::StudyConfig config;
  config.strategy.repeat = repeat;
  config.strategy.retry = retry;
  return config;
}

study::StudyConfig folded(std::int64_t folds, std::int64_t repeat, std::int64_t retry) {
  study::StudyConfig config = asked(repeat, retry);
  config.data.folds = folds;
  return config;
}

std::unique_ptr<Strategy> repeating(const StrategyPlugin& plugin, const Context& context,
                                    const study::StudyConfig& config, bool with_rule = false) {
  const Options options = must(resolve_options(Options::object(), plugin.options));
  return compose(with_repeated_trainings(must(plugin.make(context, options)), config),
                 with_rule ? small_rule(context) : nullptr);
}

/// Records the events that an inner sampler observes.
class RecordingSampler final : public Sampler {
 public:
  RecordingSampler(std::unique_ptr<Sampler> inner, std::vector<study::Event>* observed_events)
      : inner_(std::move(inner)), observed_events_(observed_events) {}
  std::string_view name() const override { return inner_->name(); }
  Result<Suggestion> sample_proposals(std::int64_t count) const override { return inner_->sample_proposals(count); }
  void observe(const study::Event& event) override {
    observed_events_->push_back(event);
    inner_->observe(event);
  }

 private:
  std::unique_ptr<Sampler> inner_;
  std::vector<study::Event>* observed_events_;
};

std::unique_ptr<Sampler> random_sampler(const Context& context) {
  return must(random_plugin().make(context, must(resolve_options(Options::object(), random_plugin().options))));
}

class EveryStrategyRepeated : public testing::SamplerTest {};

TEST_P(EveryStrategyRepeated, ReplaysItsEvents) {
  const auto config = asked(3, 1);
  auto strategy = repeating(plugin(), small_context(3), config, true);
  const auto events = testing::play(*strategy, 50, Rng(9));
  auto replayed = repeating(plugin(), small_context(3), config, true);
  for (const study::Event& event : events) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      const auto group = must(replayed->suggest({1}));
      ASSERT_FALSE(group.proposals().empty());
      EXPECT_EQ(study::proposal_json(group.proposals()[0]), study::proposal_json(proposed->proposal));
    }
    replayed->observe(event);
  }
  EXPECT_EQ(text_of(must(replayed->suggest({4}))), text_of(must(strategy->suggest({4}))));
}

TEST_P(EveryStrategyRepeated, ProposesGroupEqualToSingleProposals) {
  auto together = repeating(plugin(), small_context(4), asked(3, 0));
  auto one_by_one = repeating(plugin(), small_context(4), asked(3, 0));
  const auto group = must(together->suggest({7}));
  ASSERT_EQ(group.proposals().size(), 7U);
  for (std::uint32_t i = 0; i < 7; ++i) {
    const auto one = must(one_by_one->suggest({1}));
    EXPECT_EQ(study::proposal_json(one.proposals().at(0)), study::proposal_json(group.proposals()[i]));
    EXPECT_EQ(group.proposals()[i].repeat, i % 3);
    one_by_one->observe(study::Proposed{TrialId{i + 1}, one.proposals()[0]});
  }
}

TEST_P(EveryStrategyRepeated, EqualsPlainStrategyWithOneTraining) {
  const StrategyPlugin own = plugin();
  const Context context = small_context(5);
  auto alone = compose(must(own.make(context, must(resolve_options(Options::object(), own.options)))), nullptr);
  auto wrapped = repeating(own, context, asked(1, 0));
  for (const study::Event& event : testing::play(*alone, 30, Rng(4))) {
    if (std::holds_alternative<study::Proposed>(event)) {
      EXPECT_EQ(text_of(must(wrapped->suggest({1}))),
                text_of({Suggestion::Kind::kGroup, {0, {NewTrial{std::get<study::Proposed>(event).proposal}}}}));
    }
    wrapped->observe(event);
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryStrategyRepeated, ::testing::ValuesIn(testing::plain_sampler_names()),
                         [](const auto& instance) { return instance.param; });

TEST(Repeat, ReportsOneAveragedTrial) {
  std::vector<study::Event> observed_events;
  const Context context = small_context(1);
  auto inner = random_sampler(context);
  auto strategy = compose(
      with_repeated_trainings(std::make_unique<RecordingSampler>(std::move(inner), &observed_events), asked(2, 0)),
      nullptr);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    strategy->observe(study::Proposed{TrialId{id}, must(strategy->suggest({1})).proposals().at(0)});
  }
  strategy->observe(study::Measured{{TrialId{2}, 4, 4, {{"acc", 0.5}}}});
  strategy->observe(study::Ended{TrialId{2}, {}});
  ASSERT_EQ(observed_events.size(), 1U);
  strategy->observe(study::Measured{{TrialId{1}, 4, 4, {{"acc", 0.75}}}});
  strategy->observe(study::Ended{TrialId{1}, {}});

  ASSERT_EQ(observed_events.size(), 3U);
  EXPECT_EQ(std::get<study::Proposed>(observed_events[0]).trial, TrialId{1});
  EXPECT_EQ(std::get<study::Measured>(observed_events[1]).measurement.metrics.at("acc"), 0.625);
  EXPECT_EQ(std::get<study::Ended>(observed_events[2]).trial, TrialId{1});
  EXPECT_EQ(must(strategy->suggest({1})).proposals().at(0).repeat, 0);
}

TEST_P(EveryStrategyRepeated, TrainsEachProposalOnAllFoldsAndRepeats) {
  const auto config = folded(3, 2, 1);
  auto strategy = repeating(plugin(), small_context(3), config, true);
  const auto events = testing::play(*strategy, 60, Rng(9));
  std::map<Digest, std::vector<std::int64_t>> folds;
  auto replayed = repeating(plugin(), small_context(3), config, true);
  for (const study::Event& event : events) {
    if (const auto* proposed = std::get_if<study::Proposed>(&event)) {
      EXPECT_EQ(text_of(must(replayed->suggest({1}))),
                text_of({Suggestion::Kind::kGroup, {0, {NewTrial{proposed->proposal}}}}));
      ASSERT_TRUE(proposed->proposal.fold);
      study::Proposal alone = proposed->proposal;
      folds[study::decisions_key(alone)].push_back(*alone.fold);
    }
    replayed->observe(event);
  }
  for (const auto& [decisions, trained] : folds) {
    for (std::size_t i = 0; i < std::min<std::size_t>(trained.size(), 6); ++i) {
      EXPECT_GE(trained[i], 0);
      EXPECT_LT(trained[i], 6);
    }
  }
}

TEST(Repeat, RetriesFailedFoldFirst) {
  const Context context = small_context(1);
  auto strategy = compose(with_repeated_trainings(random_sampler(context), folded(3, 1, 2)), nullptr);
  std::vector<std::int64_t> folds, repeats;
  const auto propose = [&](std::uint32_t id) {
    const auto proposal = must(strategy->suggest({1})).proposals().at(0);
    folds.push_back(*proposal.fold);
    repeats.push_back(proposal.repeat);
    strategy->observe(study::Proposed{TrialId{id}, proposal});
  };
  propose(1);
  propose(2);
  strategy->observe(study::Ended{TrialId{2}, {study::OutcomeKind::kFailed, "", {}, "", {}}});
  propose(3);
  propose(4);
  strategy->observe(study::Ended{TrialId{4}, {study::OutcomeKind::kFailed, "", {}, "", {}}});
  propose(5);
  propose(6);
  EXPECT_EQ(folds, (std::vector<std::int64_t>{0, 1, 1, 2, 2, 0}));
  EXPECT_EQ(repeats, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 0}));
}

TEST(Repeat, AveragesEpochsThatAllTrainingsReached) {
  std::vector<study::Event> observed_events;
  auto inner = random_sampler(small_context(1));
  auto strategy = compose(
      with_repeated_trainings(std::make_unique<RecordingSampler>(std::move(inner), &observed_events), asked(2, 0)),
      nullptr);
  for (std::uint32_t id = 1; id <= 2; ++id) {
    strategy->observe(study::Proposed{TrialId{id}, must(strategy->suggest({1})).proposals().at(0)});
  }
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
    const double value = static_cast<double>(epoch);
    strategy->observe(study::Measured{{TrialId{1}, epoch, epoch, {{"acc", value}}}});
    if (epoch < 3) strategy->observe(study::Measured{{TrialId{2}, epoch, epoch, {{"acc", value + 1}}}});
  }
  strategy->observe(study::Ended{TrialId{2}, {study::OutcomeKind::kStopped, "", {}, "", {}}});
  strategy->observe(study::Ended{TrialId{1}, {}});

  ASSERT_EQ(observed_events.size(), 4U);
  for (std::int64_t epoch = 1; epoch <= 2; ++epoch) {
    const study::Measurement& seen =
        std::get<study::Measured>(observed_events[static_cast<std::size_t>(epoch)]).measurement;
    EXPECT_EQ(seen.epoch, epoch);
    EXPECT_EQ(seen.metrics.at("acc"), static_cast<double>(epoch) + 0.5);
  }
  EXPECT_EQ(std::get<study::Ended>(observed_events[3]).outcome.kind, study::OutcomeKind::kStopped);
}

TEST(Repeat, RetriesFailedTrainingUpToLimit) {
  auto strategy = repeating(random_plugin(), small_context(2), asked(1, 2));
  std::vector<study::Proposal> seen;
  for (std::uint32_t id = 1; id <= 4; ++id) {
    seen.push_back(must(strategy->suggest({1})).proposals().at(0));
    strategy->observe(study::Proposed{TrialId{id}, seen.back()});
    strategy->observe(study::Ended{TrialId{id}, {study::OutcomeKind::kFailed, "diverged", {}, "", {}}});
  }
  EXPECT_EQ(seen[1].repeat, 1);
  EXPECT_EQ(seen[2].repeat, 2);
  EXPECT_EQ(seen[2].sample, seen[0].sample);
  EXPECT_EQ(seen[3].repeat, 0);
  EXPECT_NE(study::run_key(seen[0]), study::run_key(seen[1]));
  EXPECT_NE(study::run_key(seen[3]), study::run_key(seen[0]));
}

TEST(Repeat, MapsParentsToStudyIds) {
  auto strategy = repeating(evolution_plugin(), small_context(3), asked(2, 1));
  std::map<TrialId, study::Proposal> proposals;
  for (const study::Event& event : testing::play(*strategy, 120, Rng(4))) {
    const auto* proposed = std::get_if<study::Proposed>(&event);
    if (proposed == nullptr) continue;
    proposals[proposed->trial] = proposed->proposal;
    if (!proposed->proposal.parent) continue;
    ASSERT_TRUE(proposals.contains(*proposed->proposal.parent));
    const study::Proposal& parent = proposals.at(*proposed->proposal.parent);
    EXPECT_EQ(parent.repeat, 0);
    EXPECT_LE(parent.steps.size(), proposed->proposal.steps.size());
    EXPECT_EQ(parent.base, proposed->proposal.base);
  }
  EXPECT_GT(proposals.size(), 100U);
}

}  // namespace
}  // namespace lanista::search
