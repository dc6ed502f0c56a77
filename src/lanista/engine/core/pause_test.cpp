// Trials that pause, resume and stop: by promotions, and by random strategies.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/random_verdicts.h"

namespace lanista::engine {
namespace {

using search::Suggestion;
using store::RecordType;
using namespace testing;

study::StudyConfig promoting_study(std::int64_t trials) {
  study::StudyConfig config = small_study(trials);
  config.train.length.epochs = 9;
  config.stop = {"asha", {{"rungs", {1, 3}}, {"eta", 2}, {"type", "promotion"}}};
  return testing::resolved(config);
}

/// Pauses, resumes and stops random trials, in groups of any kind: a function of its seed and of the events.
class RandomVerdictMembers final : public testing::RandomVerdictStrategy {
 public:
  RandomVerdictMembers(std::unique_ptr<search::Strategy> inner, std::int64_t epochs, std::uint64_t seed)
      : RandomVerdictStrategy(std::move(inner), epochs, Rng(seed).split("whim"),
                              {.pause_probability = 0.25, .stop_probability = 0.05, .max_epochs_ahead = 3}) {}
  std::string_view name() const override { return "whimsical"; }

  Result<Suggestion> suggest(const search::Capacity& capacity) const override {
    Rng rng = suggestion_rng();
    if (capacity.running > 0 && rng.bernoulli(0.2)) return Suggestion::wait();
    Suggestion out;
    out.group.id = next_group();
    out.group.barrier = rng.bernoulli(0.15);
    out.group.priority = rng.bernoulli(0.2) ? rng.uniform() : 0;
    const auto fresh = inner().suggest({4});
    std::vector<study::Proposal> proposals = fresh ? fresh->proposals() : std::vector<study::Proposal>();
    std::set<TrialId> used;
    for (std::int64_t count = rng.between(1, 4); count > 0; --count) {
      const double u = rng.uniform();
      const auto it = random_known_trial(rng);
      const bool free_to_use = it != known().end() && used.insert(it->first).second;
      if (u < 0.45 && free_to_use && it->second.paused) {
        const std::int64_t epoch = it->second.epoch;
        out.group.members.emplace_back(search::ResumeTrial{it->first, rng.between(epoch + 1, epochs())});
      } else if (u < 0.5 && free_to_use) {
        out.group.members.emplace_back(search::StopTrial{it->first});
      } else if (capacity.new_trials > 0 && !proposals.empty()) {
        study::Proposal proposal = proposals.back();
        proposals.pop_back();
        set_budget(proposal, rng);
        out.group.members.emplace_back(search::NewTrial{std::move(proposal)});
      }
    }
    if (!out.group.members.empty()) return out;
    if (capacity.running > 0) return Suggestion::wait();
    return Suggestion::space_exhausted();
  }
};

CustomStudy random_verdict_study(std::uint64_t seed) {
  study::StudyConfig config = promoting_study(10);
  config.strategy.slots = 1 + static_cast<std::int64_t>(seed % 4);
  config.stop = {"none", Options::object()};
  return {config, [config, seed](const auto& models) {
            return std::make_unique<RandomVerdictMembers>(*make_strategy(config, models), config.train.length.epochs,
                                                          seed);
          }};
}

std::map<RecordType, int> counted(Bench& bench) {
  std::map<RecordType, int> out;
  const auto records = store::read_log(bench.disk, kFolder);
  for (const auto& record : *records) ++out[record.type];
  return out;
}

TEST(Promotion, LeavesNoOpenTrialAndNoUnusedFile) {
  Bench bench;
  ASSERT_TRUE(testing::as_configured(promoting_study(20)).run_study(bench, 1).ok());
  const StudyView view = bench.view();
  std::int64_t whole = 0, rested = 0;
  for (const TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.outcome) << trial.id.value;
    EXPECT_FALSE(trial.paused);
    whole += trial.outcome->kind == study::OutcomeKind::kSucceeded ? 1 : 0;
    if (trial.outcome->kind != study::OutcomeKind::kStopped) continue;
    ++rested;
    EXPECT_EQ(trial.outcome->reason, "paused until the study ended");
    EXPECT_TRUE(trial.outcome->weights_hash);
    EXPECT_TRUE(trial.measurements.size() == 1 || trial.measurements.size() == 3) << trial.measurements.size();
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(rested, whole);
  EXPECT_EQ(view.end_reason, "budget");
  ASSERT_TRUE(view.winner);
  EXPECT_TRUE(bench.disk.exists(kFolder + "/best/weights.safetensors"));
  std::set<std::string> wanted, there;
  for (const TrialView& trial : view.trials) {
    if (!trial.outcome->weights.empty()) wanted.insert(trial.outcome->weights);
  }
  for (const auto& [path, bytes] : bench.disk.files()) {
    const std::string folder = kFolder + "/ckpt/";
    if (path.starts_with(folder)) there.insert(path.substr(folder.size(), 32));
  }
  EXPECT_LE(there.size(), 2U);  // keep.top
  for (const std::string& file : there) EXPECT_TRUE(wanted.contains(file));
}

TEST(Promotion, ResumesExactlyAfterKills) {
  testing::expect_resumes_from_every_change(testing::as_configured(promoting_study(8)), 1);
  study::StudyConfig config = promoting_study(12);
  config.strategy.repeat = 2;
  config.strategy.retry = 1;
  testing::expect_resumes_from_every_change(testing::as_configured(config), 5);
  config = promoting_study(12);
  config.budget.steps = 60;
  testing::expect_resumes_from_every_change(testing::as_configured(config), 5);
}

study::StudyConfig bracketed_study(const std::string& rule, std::int64_t trials, const nlohmann::json& options) {
  study::StudyConfig config = small_study(trials);
  config.train.length.epochs = 9;
  config.stop = {rule, options};
  return testing::resolved(config);
}

TEST(Brackets, EndAtRungsAndLeaveNoUnusedFile) {
  Bench bench;
  ASSERT_TRUE(bench.run(bracketed_study("hyperband", 17, {{"eta", 3}}), {.seed = 1, .workers = 2}).ok());
  const StudyView view = bench.view();
  std::map<std::vector<std::int64_t>, int> rungs;
  for (const TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.outcome) << trial.id.value;
    ++rungs[trial.rungs];
    const bool whole = trial.rungs.empty() || trial.rungs.back() == 9;
    EXPECT_EQ(trial.outcome->kind, whole ? study::OutcomeKind::kSucceeded : study::OutcomeKind::kStopped);
    EXPECT_EQ(std::ssize(trial.measurements), whole ? 9 : trial.rungs.back());
    if (!whole) {
      EXPECT_EQ(trial.outcome->reason, "stopped by the strategy");
      EXPECT_TRUE(trial.outcome->weights_hash);
    }
  }
  EXPECT_EQ(rungs, (std::map<std::vector<std::int64_t>, int>{
                       {{1}, 6}, {{1, 3}, 2}, {{1, 3, 9}, 1}, {{3}, 4}, {{3, 9}, 1}, {{}, 3}}));
  EXPECT_TRUE(view.winner);
  std::set<std::string> there;
  for (const auto& [path, bytes] : bench.disk.files()) {
    const std::string folder = kFolder + "/ckpt/";
    if (path.starts_with(folder)) there.insert(path.substr(folder.size(), 32));
  }
  EXPECT_LE(there.size(), 2U);  // keep.top
}

TEST(Brackets, ResumeExactlyAfterKills) {
  for (const char* brackets : {"together", "in_turn"}) {
    SCOPED_TRACE(brackets);
    testing::expect_resumes_from_every_change(
        testing::as_configured(bracketed_study("hyperband", 11, {{"brackets", brackets}})), 7);
    study::StudyConfig config = bracketed_study("successive_halving", 12,
                                                {{"rungs", {1, 3}}, {"eta", 2}, {"trials", 5}, {"brackets", brackets}});
    config.strategy.repeat = 2;
    config.strategy.retry = 1;
    testing::expect_resumes_from_every_change(testing::as_configured(config), 11);
    config.budget.steps = 60;
    testing::expect_resumes_from_every_change(testing::as_configured(config), 11);
  }
}

TEST(Brackets, AreIndependentOfWorkersAndArrivalOrder) {
  for (const char* brackets : {"together", "in_turn"}) {
    const CustomStudy study = testing::as_configured(bracketed_study("hyperband", 30, {{"brackets", brackets}}));
    std::set<std::string> ends;
    for (const std::int64_t workers : {1, 2, 8}) {
      Bench bench;
      const auto end = bench.run(study.config, {.seed = static_cast<std::uint64_t>(workers), .workers = workers});
      ASSERT_TRUE(end.ok()) << end.error().text();
      ends.insert(bench.canonical());
    }
    EXPECT_EQ(ends.size(), 1U) << brackets;
  }
}

TEST(Promotion, KeepsScheduleAndKey) {
  Bench bench;
  ASSERT_TRUE(testing::as_configured(promoting_study(10)).run_study(bench, 1).ok());
  for (const TrialView& trial : bench.view().trials) {
    EXPECT_EQ(trial.proposal.budget, 1);
    EXPECT_EQ(study::full_epochs(trial.proposal), 9);
    study::Proposal whole = trial.proposal;
    whole.budget = 9;
    whole.horizon = 0;
    EXPECT_EQ(study::run_key(whole), study::run_key(trial.proposal));
    const auto job = make_job(bench.view().config, bench.data, trial, {});
    ASSERT_TRUE(job.ok());
    EXPECT_EQ(job->recipe.epochs, 9);
  }
}

TEST(RandomVerdicts, ResumeExactlyAfterAnyKill) {
  int groups = 0, is_paused = 0, resumptions = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const CustomStudy study = random_verdict_study(seed);
    Bench bench;
    const auto end = study.run_study(bench, 0);
    ASSERT_TRUE(end.ok()) << seed << ": " << end.error().text();
    auto count = counted(bench);
    groups += count[RecordType::kGroup];
    is_paused += count[RecordType::kPaused];
    resumptions += count[RecordType::kResumed];
    SCOPED_TRACE(seed);
    testing::expect_resumes_from_every_change(study, seed <= 2 ? 1 : 11);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(groups, 10);
  EXPECT_GT(is_paused, 10);
  EXPECT_GT(resumptions, 5);
}

TEST(RandomVerdicts, AreIndependentOfWorkersAndArrivalOrder) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    testing::expect_independent_of_workers(random_verdict_study(seed), 5);
  }
}

/// A strategy is a function of the events: after the events of any prefix of the log it answers as the live one did.
TEST(RandomVerdicts, AreReplayableFromEveryLogPrefix) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const CustomStudy study = random_verdict_study(seed);
    Bench bench;
    ASSERT_TRUE(study.run_study(bench, 0).ok());
    const auto records = *store::read_log(bench.disk, kFolder);
    const auto models = *make_model_space(study.config, bench.data, "", bench.disk);
    StudyState live;
    const auto strategy = study.make(models);
    for (std::size_t n = 1; n <= records.size(); ++n) {
      ASSERT_TRUE(live.apply(records[n - 1], [&](const study::Event& event) { strategy->observe(event); }).ok());
      if (n % 7 != 0 && n != records.size()) continue;
      StudyState again;
      const auto rebuilt = study.make(models);
      const std::vector<store::Record> prefix(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(n));
      ASSERT_TRUE(replay_records(again, prefix, [&](const study::Event& event) { rebuilt->observe(event); }).ok());
      EXPECT_EQ(again.open.size(), live.open.size());
      EXPECT_EQ(again.waiting_members.size(), live.waiting_members.size());
      EXPECT_EQ(again.open_behind_barrier, live.open_behind_barrier);
      EXPECT_EQ(again.paused_trials(), live.paused_trials());
      EXPECT_EQ(again.now, live.now);
      const auto a = strategy->suggest({1}), b = rebuilt->suggest({1});
      ASSERT_EQ(a.ok(), b.ok());
      if (a.ok()) {
        EXPECT_EQ(group_body(a->group), group_body(b->group));
      }
      for (const auto& [id, open] : live.open) {
        EXPECT_EQ(strategy->verdict(id).verdict, rebuilt->verdict(id).verdict);
        EXPECT_EQ(strategy->verdict(id).through, rebuilt->verdict(id).through);
      }
    }
  }
}

/// Asks for `request` when `when` first holds of the view; gives how the study ended.
StudyView after_request(const study::StudyConfig& config, const std::string& request,
                        const std::function<bool(const StudyView&)>& when, Bench& bench) {
  bench.observer.on_event = [&, asked = false](const StudyView& view, const study::Event&) mutable {
    bench.clock.advance(1);
    if (asked || !when(view)) return;
    asked = true;
    bench.disk.put(kFolder + "/control/" + request, "");
  };
  const auto end = testing::as_configured(config).run_study(bench, 1);
  EXPECT_TRUE(end.ok()) << end.error().text();
  return bench.view();
}

TEST(StopTrial, EndsAPausedTrial) {
  Bench bench;
  const StudyView view = after_request(
      promoting_study(12), "stop-trial-1", [](const StudyView& v) { return v.trials[0].paused; }, bench);
  EXPECT_EQ(view.trials[0].outcome->kind, study::OutcomeKind::kCancelled);
  EXPECT_EQ(view.trials[0].measurements.size(), 1U);
  EXPECT_EQ(view.trials.size(), 12U);
}

TEST(Stop, CountsPausedTrialsMeasurements) {
  Bench bench;
  const StudyView view = after_request(
      promoting_study(30), "stop",
      [](const StudyView& v) { return v.trials.size() == 12 && v.trials[11].outcome == std::nullopt; }, bench);
  EXPECT_EQ(view.end_reason, "stopped by the user");
  std::map<study::OutcomeKind, int> kinds;
  for (const TrialView& trial : view.trials) ++kinds[trial.outcome->kind];
  EXPECT_GT(kinds[study::OutcomeKind::kCancelled], 0);
  EXPECT_GT(kinds[study::OutcomeKind::kStopped], 0);
  EXPECT_TRUE(view.winner);
}

TEST(Promotion, RetrainsWinnerWithLostFile) {
  Bench reference, bench;
  const study::StudyConfig config = promoting_study(12);
  ASSERT_TRUE(testing::as_configured(config).run_study(reference, 1).ok());
  // A study is paused while trials rest; all their files get lost.
  bench.observer.on_event = [&](const StudyView& view, const study::Event&) {
    bench.clock.advance(1);
    if (view.trials.size() == 9) bench.pause = 15;
  };
  ASSERT_EQ(testing::as_configured(config).run_study(bench, 1)->end, RunEnd::kPaused);
  Bench other;
  for (const auto& [path, bytes] : bench.disk.files()) {
    if (!path.starts_with(kFolder + "/ckpt/")) other.disk.put(path, bytes);
  }
  ASSERT_TRUE(testing::as_configured(config).run_study(other, 2).ok());
  EXPECT_EQ(other.canonical(), reference.canonical());
}

}  // namespace
}  // namespace lanista::engine
