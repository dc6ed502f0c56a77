// Trials that fork from each other's states: in population based training, and by a random strategy.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/random_verdicts.h"

namespace lanista::engine {
namespace {

using search::Suggestion;
using testing::Bench;
using testing::CustomStudy;
using testing::kFolder;
using testing::kOptions;

/// One model; what varies may change while a trial trains.
study::StudyConfig forking_study(std::int64_t epochs, std::int64_t slots) {
  study::StudyConfig config = testing::small_study(30);
  config.space.mutate.clear();
  config.space.params = {};
  LANISTA_CHECK(config.space.params.add({"lr", space::FloatRange{0.01, 0.5, 0, true}, {}}).ok(),
                "the test's own space");
  LANISTA_CHECK(config.space.params.add({"momentum", space::FloatRange{0, 0.9, 0, false}, {}}).ok(), "the same");
  config.train.length.epochs = epochs;
  config.train.measured.keep = study::kKeepLast;
  config.strategy = {"pbt", slots, {{"population", 7}, {"interval", 2}}};
  config.stop = {"none", Options::object()};
  return testing::resolved(config);
}

/// Random members of groups, with forks from any trial that is paused at the same epoch. The order is random, so some
/// of these trials have resumed or ended before their member starts.
class RandomForkStrategy final : public testing::RandomVerdictStrategy {
 public:
  RandomForkStrategy(std::unique_ptr<search::Strategy> inner, std::int64_t epochs, std::uint64_t seed)
      : RandomVerdictStrategy(std::move(inner), epochs, Rng(seed).split("restless"),
                              {.pause_probability = 0.3, .stop_probability = 0.03, .max_epochs_ahead = 2}) {}
  std::string_view name() const override { return "restless"; }

  search::TrialVerdict verdict(TrialId trial) const override {
    search::TrialVerdict trial_verdict = RandomVerdictStrategy::verdict(trial);
    trial_verdict.tolerates_divergence = trial.value % 2 == 0;
    return trial_verdict;
  }

  Result<Suggestion> suggest(const search::Capacity& capacity) const override {
    Rng rng = suggestion_rng();
    Suggestion out;
    out.group.id = next_group();
    out.group.barrier = rng.bernoulli(0.1);
    std::set<TrialId> used;
    for (std::int64_t count = rng.between(1, 4); count > 0; --count) {
      const auto it = random_known_trial(rng);
      const bool is_paused = it != known().end() && it->second.paused;
      if (is_paused && rng.bernoulli(0.7) && used.insert(it->first).second) {
        const std::int64_t epoch = it->second.epoch;
        search::ResumeTrial member{it->first, rng.bernoulli(0.7) ? epoch + 1 : rng.between(epoch + 1, epochs())};
        std::vector<TrialId> others;
        for (const auto& [id, other] : known()) {
          if (other.paused && other.epoch == epoch && id != it->first) others.push_back(id);
        }
        if (!others.empty() && rng.bernoulli(0.8)) {
          const TrialId from = others[rng.below(others.size())];
          member.fork = {from, epoch, {{"lr", rng.uniform(0.01, 0.5)}, {"momentum", rng.uniform(0, 0.9)}}, ""};
        }
        out.group.members.emplace_back(member);
      } else if (capacity.new_trials > 0 && out.group.proposals().empty()) {
        const auto fresh = inner().suggest({1});
        if (!fresh || fresh->proposals().empty()) continue;
        study::Proposal proposal = fresh->proposals().front();
        proposal.horizon = epochs();
        proposal.budget = 1;
        out.group.members.emplace_back(search::NewTrial{proposal});
      }
    }
    if (!out.group.members.empty()) return out;
    return capacity.running > 0 ? Suggestion::wait() : Suggestion::space_exhausted();
  }
};

CustomStudy random_fork_study(std::uint64_t seed) {
  study::StudyConfig config = forking_study(5, 1 + static_cast<std::int64_t>(seed % 4));
  config.strategy.name = "random";
  config.strategy.options = Options::object();
  config.budget.trials = 9;
  auto resolved = *studyfile::read_study(studyfile::write_study(config), "restless.yaml");
  return {resolved, [resolved, seed](const auto& models) {
            return std::make_unique<RandomForkStrategy>(*make_strategy(resolved, models), resolved.train.length.epochs,
                                                        seed);
          }};
}

std::int64_t forks_in(const StudyView& view) {
  std::int64_t forks = 0;
  for (const TrialView& trial : view.trials) forks += std::ssize(trial.forks);
  return forks;
}

TEST(ForkedTrials, LogAndViewMatchRequestedForks) {
  Bench bench;
  FakeOptions options = kOptions;
  options.fail_one_in = options.nan_one_in = 0;
  study::StudyConfig config = forking_study(9, 3);
  config.data.rules = study::kFirstRules;  // later rules have a higher schema
  ASSERT_TRUE(bench.run(config, options).ok());
  const StudyView view = bench.view();
  ASSERT_EQ(view.trials.size(), 7U);
  EXPECT_EQ(forks_in(view), 2 * 4) << "two of seven, at the epochs 2, 4, 6 and 8";
  for (const TrialView& trial : view.trials) {
    EXPECT_EQ(trial.outcome->kind, study::OutcomeKind::kSucceeded);
    EXPECT_EQ(trial.measurements.size(), 9U);
    for (std::size_t i = 0; i < trial.measurements.size(); ++i) {
      EXPECT_EQ(trial.measurements[i].trial, trial.id);
      EXPECT_EQ(trial.measurements[i].step, 2 * static_cast<std::int64_t>(i + 1)) << "the step counter continues";
    }
    for (const study::Fork& fork : trial.forks) {
      EXPECT_EQ(fork.epoch % 2, 0);
      const auto at = static_cast<std::size_t>(fork.epoch - 1);
      EXPECT_GT(view.trials[fork.from.value - 1].measurements[at].metrics.at("val_accuracy"),
                trial.measurements[at].metrics.at("val_accuracy"));
      EXPECT_TRUE(config.space.params.check(fork.sample).ok());
    }
    EXPECT_EQ(trial.proposal.sample, trial.forks.empty() ? trial.begun().sample : trial.forks.back().sample);
  }
  const auto records = *store::read_log(bench.disk, kFolder);
  EXPECT_EQ(records.front().body.at("schema"), store::kForkSchema)
      << "an older build would resume from the wrong states";
}

/// The trial and the settings that trained each epoch, by recursion.
std::pair<TrialId, space::Sample> samples_after_fork(const StudyView& view, TrialId id, std::int64_t end,
                                                     std::int64_t epoch) {
  const TrialView& trial = view.trials[id.value - 1];
  for (auto fork = trial.forks.rbegin(); fork != trial.forks.rend(); ++fork) {
    if (fork->epoch >= end) continue;
    if (epoch > fork->epoch) return {id, fork->sample};
    return samples_after_fork(view, fork->from, fork->epoch, epoch);
  }
  return {id, trial.begun().sample};
}

TEST(Lineage, NamesTrainingTrialOfEveryEpoch) {
  std::size_t stretches = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    Bench bench;
    ASSERT_TRUE(random_fork_study(seed).run_study(bench, 0).ok());
    const StudyView view = bench.view();
    for (const TrialView& trial : view.trials) {
      const auto epochs = std::ssize(trial.measurements);
      std::int64_t done = 0;
      for (const study::LineageSegment& lineage_segment : study::lineage(view, trial, epochs)) {
        EXPECT_EQ(lineage_segment.from, done);
        for (std::int64_t epoch = lineage_segment.from + 1; epoch <= lineage_segment.through; ++epoch) {
          EXPECT_EQ(std::pair(lineage_segment.trial, lineage_segment.sample),
                    samples_after_fork(view, trial.id, epochs, epoch))
              << trial.id.value;
        }
        done = lineage_segment.through;
        ++stretches;
      }
      EXPECT_EQ(done, epochs);
    }
  }
  EXPECT_GT(stretches, 90U);
}

TEST(ForkedTrials, ResumeExactlyAfterKills) {
  testing::expect_resumes_from_every_change(testing::as_configured(forking_study(6, 3)), 15);
  std::int64_t forks = 0, trials = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Bench bench;
    ASSERT_TRUE(random_fork_study(seed).run_study(bench, 0).ok());
    const StudyView view = bench.view();
    forks += forks_in(view);
    trials += std::ssize(view.trials);
    testing::expect_resumes_from_every_change(random_fork_study(seed), 23);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(forks, 20);
  EXPECT_GT(trials, 30);
}

TEST(ForkedTrials, AreIndependentOfWorkersAndArrivalOrder) {
  for (std::uint64_t seed = 0; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    testing::expect_independent_of_workers(
        (seed == 0 ? testing::as_configured(forking_study(6, 4)) : random_fork_study(seed)), 4);
  }
}

TEST(ForkedTrials, LeaveNoUnusedFile) {
  Bench bench;
  ASSERT_TRUE(testing::as_configured(forking_study(8, 3)).run_study(bench, 1).ok());
  std::set<std::string> there;
  for (const auto& [path, bytes] : bench.disk.files()) {
    if (path.starts_with(kFolder + "/ckpt/")) there.insert(path.substr(path.rfind('/') + 1));
  }
  EXPECT_EQ(there.size(), 2U) << "keep.top";
}

TEST(ForkedTrials, ResumeOwnStateWhenSourceWasStopped) {
  Bench bench;
  const study::StudyConfig config = forking_study(6, 1);
  // The first fork of the group starts when a slot is free; its source has ended by then.
  bench.observer.on_event = [&](const StudyView& view, const study::Event& event) {
    bench.clock.advance(1);
    const auto* resumed = std::get_if<study::Resumed>(&event);
    if (resumed == nullptr || resumed->epoch != 2 || !resumed->fork || forks_in(view) != 1) return;
    for (const TrialView& trial : view.trials) {
      if (trial.paused && trial.id != resumed->trial)
        bench.disk.put(kFolder + "/control/stop-trial-" + std::to_string(trial.id.value), "");
    }
  };
  const auto end = testing::as_configured(config).run_study(bench, 1);
  ASSERT_TRUE(end.ok()) << end.error().text();
  EXPECT_TRUE(std::ranges::any_of(bench.sink.events(), [](const auto& e) { return e.event == "fork_lost"; }) ||
              forks_in(bench.view()) == 1);
}

TEST(ForkedTrials, FailWithReasonWhenStateIsLost) {
  Bench bench;
  const study::StudyConfig config = forking_study(6, 3);
  bench.observer.on_event = [&](const StudyView& view, const study::Event&) {
    bench.clock.advance(1);
    if (forks_in(view) == 2) bench.pause = 15;
  };
  ASSERT_EQ(testing::as_configured(config).run_study(bench, 1)->end, RunEnd::kPaused);
  Bench other;
  for (const auto& [path, bytes] : bench.disk.files()) {
    if (!path.starts_with(kFolder + "/ckpt/")) other.disk.put(path, bytes);
  }
  ASSERT_TRUE(testing::as_configured(config).run_study(other, 2).ok());
  std::int64_t lost = 0;
  for (const TrialView& trial : other.view().trials) {
    if (trial.outcome->kind != study::OutcomeKind::kFailed) continue;
    lost += trial.outcome->reason.find("state is lost") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(lost, 2) << "the others were trained anew";
}

}  // namespace
}  // namespace lanista::engine
