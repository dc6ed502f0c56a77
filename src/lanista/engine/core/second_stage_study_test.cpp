// Studies with a second stage (strategy.then): which trials are tuned, through pauses, kills, extensions, and in what
// others take over.
#include <gtest/gtest.h>

#include <set>

#include "lanista/engine/core/earlier_trials.h"
#include "support/engine/core/custom_strategy_study.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::CustomStudy;
using testing::kFolder;
using testing::kOptions;
using testing::small_study;

study::StudyConfig two_stage_study(std::int64_t trials, std::int64_t best,
                                   study::StopConfig stop = {"asha", {{"rungs", {1, 2}}, {"eta", 2}}}) {
  study::StudyConfig config = small_study(trials);
  config.train.schedule.name = "cosine";
  config.stop = std::move(stop);
  config.strategy.then = {{"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}}}}}, best, 2};
  return testing::resolved(config);
}

const study::StopConfig kPromoting{"asha", {{"rungs", {1, 2}}, {"eta", 2}, {"type", "promotion"}}};

/// Ranking of the search's trials, in the study's order.
std::vector<TrialId> best_of_search(StudyView view, std::size_t count) {
  for (TrialView& trial : view.trials) {
    if (trial.proposal.is_refinement) trial.outcome.reset();
  }
  std::vector<TrialId> all = study::ranking(view);
  all.resize(std::min(count, all.size()));
  return all;
}

std::vector<TrialId> refinements(const StudyView& view) {
  std::vector<TrialId> out;
  for (const TrialView& trial : view.trials) {
    if (trial.proposal.is_refinement) out.push_back(*trial.proposal.parent);
  }
  return out;
}

TEST(SecondStageStudy, RetrainsBestTrials) {
  std::int64_t rested = 0;
  for (const study::StopConfig& stop : {two_stage_study(9, 1).stop, kPromoting}) {
    for (const std::int64_t best : {1, 3}) {
      Bench bench;
      const auto end = bench.run(two_stage_study(14, best, stop), kOptions);
      ASSERT_TRUE(end.ok()) << end.error().text();
      const StudyView view = bench.view();
      EXPECT_EQ(view.trials.size(), 14U);
      EXPECT_EQ(view.end_reason, "budget");
      EXPECT_EQ(refinements(view), best_of_search(view, static_cast<std::size_t>(best)));
      EXPECT_EQ(view.winner, study::ranking(view).front());
      for (const TrialView& trial : view.trials) {
        ASSERT_TRUE(trial.outcome);
        EXPECT_EQ(trial.proposal.is_refinement, trial.id.value > 14 - best);
        rested += trial.outcome->reason == "stopped by the strategy" ? 1 : 0;
        const auto models = *make_model_space(view.config, bench.data, "", bench.disk);
        const Job job =
            *make_job(view.config, bench.data, trial, *models->rebuild(trial.proposal.base, trial.proposal.edits));
        EXPECT_EQ(job.recipe.tune.name, trial.proposal.is_refinement ? "mltuner" : "");
        EXPECT_EQ(job.recipe.schedule, trial.proposal.is_refinement ? "constant" : "cosine");
        EXPECT_EQ(job.recipe.epochs, 4);
        if (!trial.proposal.is_refinement) continue;
        const TrialView& of = view.trials[trial.proposal.parent->value - 1];
        EXPECT_EQ(trial.proposal.graph_hash, of.proposal.graph_hash);
        EXPECT_EQ(trial.proposal.edits.size(), of.proposal.edits.size());
        EXPECT_EQ(trial.proposal.sample, of.proposal.sample);
        EXPECT_NE(job.trial_seed, trial_seed(view.config, of.id));
      }
    }
  }
  EXPECT_GT(rested, 5) << "trials that were paused when the search ended";
}

TEST(SecondStageStudy, EqualsSearchBeforeSecondStage) {
  study::StudyConfig plain = two_stage_study(14, 3);
  plain.strategy.then.reset();
  plain.budget.trials = 11;
  Bench with, without;
  ASSERT_TRUE(with.run(two_stage_study(14, 3), kOptions).ok());
  ASSERT_TRUE(without.run(plain, kOptions).ok());
  const StudyView a = with.view(), b = without.view();
  ASSERT_EQ(b.trials.size(), 11U);
  for (std::size_t i = 0; i < b.trials.size(); ++i) {
    EXPECT_EQ(study::proposal_json(a.trials[i].proposal), study::proposal_json(b.trials[i].proposal));
    EXPECT_EQ(a.trials[i].measurements.size(), b.trials[i].measurements.size());
    EXPECT_EQ(a.trials[i].outcome->weights_hash, b.trials[i].outcome->weights_hash);
  }
}

TEST(SecondStageStudy, ResumesExactlyAfterKills) {
  testing::expect_resumes_from_every_change(testing::as_configured(two_stage_study(8, 3)), 3);
  testing::expect_resumes_from_every_change(testing::as_configured(two_stage_study(9, 2, kPromoting)), 4);
  study::StudyConfig config = two_stage_study(9, 2, {"hyperband", Options::object()});
  config.strategy.retry = 1;
  config.strategy.slots = 1;
  testing::expect_resumes_from_every_change(testing::as_configured(config), 5);
}

TEST(SecondStageStudy, IsIndependentOfPauses) {
  const study::StudyConfig config = two_stage_study(10, 3, kPromoting);
  Bench reference;
  ASSERT_TRUE(reference.run(config, kOptions).ok());
  for (int after = 1; after < 50; after += 4) {
    Bench bench;
    int events = 0, pauses = 0;
    bench.observer.on_event = [&](const StudyView&, const study::Event&) {
      if (++events % after == 0) bench.pause = 15;
    };
    FakeOptions options = kOptions;
    auto summary = bench.run(config, options);
    while (summary.ok() && summary->end == RunEnd::kPaused) {
      bench.pause = 0;
      options.seed = static_cast<std::uint64_t>(++pauses);
      options.workers = pauses % 2 + 1;
      ASSERT_LT(pauses, 200);
      summary = bench.resume(options);
    }
    ASSERT_TRUE(summary.ok()) << summary.error().text();
    EXPECT_GT(pauses, 0);
    ASSERT_EQ(testing::first_difference(bench.canonical(), reference.canonical()), "") << after;
    EXPECT_EQ(testing::best_files(bench.disk), testing::best_files(reference.disk));
  }
}

TEST(SecondStageStudy, IsIndependentOfWorkersAndArrivalOrder) {
  std::set<std::string> ends;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Bench bench;
    ASSERT_TRUE(testing::as_configured(two_stage_study(12, 3, kPromoting)).run_study(bench, seed).ok());
    ends.insert(bench.canonical());
  }
  EXPECT_EQ(ends.size(), 1U);
}

TEST(SecondStageStudy, ContinuesSearchAfterExtension) {
  int renewed = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    study::StudyConfig config = two_stage_study(10, 2);
    config.run.seed = seed;
    Bench bench;
    ASSERT_TRUE(bench.run(config, kOptions).ok());
    const std::size_t before = refinements(bench.view()).size();
    ASSERT_EQ(before, 2U);
    const auto end = bench.resume(kOptions, {.trials = 8});
    ASSERT_TRUE(end.ok()) << end.error().text();
    const StudyView view = bench.view();
    EXPECT_EQ(view.trials.size(), 18U);
    const std::vector<TrialId> all = refinements(view);
    EXPECT_EQ(std::set<TrialId>(all.begin(), all.end()).size(), all.size());
    renewed += all.size() > before ? 1 : 0;
    for (const TrialView& trial : view.trials) EXPECT_TRUE(trial.outcome);
  }
  EXPECT_GT(renewed, 0);
}

TEST(SecondStageStudy, StartsWhenSpaceIsExhausted) {
  study::StudyConfig config = two_stage_study(14, 2);
  config.space.mutate.clear();
  config.space.params = {};
  ASSERT_TRUE(config.space.params.add({"lr", space::Categorical{{0.1, 0.2, 0.3, 0.4, 0.5}}, {}}));
  config.strategy.name = "grid";
  config.strategy.options = Options::object();
  config.budget.trials.reset();
  config.budget.guard_minutes = 1e6;
  Bench bench;
  const auto end = bench.run(config, {.workers = 2});
  ASSERT_TRUE(end.ok()) << end.error().text();
  const StudyView view = bench.view();
  EXPECT_EQ(view.trials.size(), 7U);
  EXPECT_EQ(refinements(view), best_of_search(view, 2));
  EXPECT_EQ(view.end_reason, "the strategy has nothing left to propose");
}

TEST(SecondStageStudy, IsNotImportedAsResult) {
  Bench bench;
  const study::StudyConfig config = two_stage_study(10, 3);
  ASSERT_TRUE(bench.run(config, {.workers = 2}).ok());
  study::StudyConfig later = config;
  later.strategy.then.reset();
  const auto models = *make_model_space(later, bench.data, "", bench.disk);
  const auto taken = import_trials(bench.view(), later, bench.data, *models);
  ASSERT_TRUE(taken) << taken.error().text();
  EXPECT_EQ(taken->earlier.trials.size(), 7U);
  EXPECT_EQ(taken->left_out,
            (std::map<std::string, std::int64_t>{{"it tuned its settings while it trained (strategy.then)", 3}}));
}

TEST(SecondStageStudy, IsRefusedInOlderLog) {
  Bench staged, plain;
  ASSERT_TRUE(staged.run(two_stage_study(9, 2), {.workers = 2}).ok());
  ASSERT_TRUE(plain.run(small_study(9), {.workers = 2}).ok());
  auto records = *store::read_log(staged.disk, kFolder);
  ASSERT_TRUE(fold(records));
  records.front() = store::read_log(plain.disk, kFolder)->front();
  const auto folded = fold(records);
  ASSERT_FALSE(folded.ok());
  EXPECT_NE(folded.error().message.find("is a refinement in a study without a second stage"), std::string::npos)
      << folded.error().text();
}

}  // namespace
}  // namespace lanista::engine
