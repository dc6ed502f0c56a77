// Studies with folds: which training gets which rows, and that neither failures nor kills change it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_setup.h"
#include "support/engine/core/test_support.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::best_files;
using testing::kFolder;
using testing::small_study;

const FakeOptions kDisturbedFolds{.workers = 2, .checkpoint_one_in = 3, .fail_one_in = 6};

study::StudyConfig folded_study(std::int64_t folds, std::int64_t repeat) {
  study::StudyConfig config = small_study(24);
  config.data.folds = folds;
  config.strategy.repeat = repeat;
  config.strategy.retry = 1;
  return config;
}

data::DataSpec folded_data(std::int64_t trainings) {
  data::DataSpec data = testing::small_data();
  const data::DataSpec create_private = data;
  for (std::int64_t fold = 0; fold < trainings; ++fold) {
    data.folds.push_back(create_private);
    data.folds.back().hash = hash_text("tiny " + std::to_string(fold));
  }
  return data;
}

/// The folds of every proposal's trainings, in the order of the log, by how they ended.
std::map<Digest, std::vector<const TrialView*>> by_proposal(const StudyView& view) {
  std::map<Digest, std::vector<const TrialView*>> out;
  for (const TrialView& trial : view.trials) out[study::decisions_key(trial.proposal)].push_back(&trial);
  return out;
}

TEST(FoldedStudy, TrainsOncePerFoldAndRetriesFailures) {
  std::size_t again = 0;
  for (const std::int64_t repeat : {1, 2}) {
    Bench bench;
    bench.data = folded_data(3 * repeat);
    study::StudyConfig config = folded_study(3, repeat);
    config.stop = {};
    config.strategy.retry = 3;
    ASSERT_TRUE(bench.run(config, {.workers = 2, .fail_one_in = 4}).ok());
    const StudyView view = bench.view();
    std::size_t whole = 0;
    for (const auto& [decisions, trainings] : by_proposal(view)) {
      std::set<std::int64_t> succeeded;
      study::TrainingCounts tally;
      for (const TrialView* trial : trainings) {
        ASSERT_TRUE(trial->proposal.fold);
        tally.count(trial->outcome->kind);
        if (trial->outcome->kind != study::OutcomeKind::kSucceeded) continue;
        EXPECT_TRUE(succeeded.insert(*trial->proposal.fold).second) << "a fold trained twice";
      }
      tally.proposed = std::ssize(trainings);
      again += static_cast<std::size_t>(tally.failed);
      if (!study::trainings_done(config, tally) || tally.failed > 3) continue;
      ++whole;
      EXPECT_EQ(std::ssize(succeeded), 3 * repeat);
      EXPECT_EQ(*succeeded.rbegin(), 3 * repeat - 1);
    }
    EXPECT_GT(whole, 1U);
  }
  EXPECT_GT(again, 0U);
}

// A guard cancels some trainings of a proposal; those that it has then may be easy folds.
TEST(FoldedStudy, RanksCancelledProposalsAfterCompleteOnes) {
  Rng rng(44);
  std::size_t both = 0, incomplete_alone = 0;
  for (int round = 0; round < 60; ++round) {
    Bench bench;
    const std::int64_t folds = 2 + round % 4;
    bench.data = folded_data(folds);
    study::StudyConfig config = folded_study(folds, 1);
    config.budget.trials = 10'000;
    config.budget.guard_minutes = rng.uniform(0.02, 0.4);
    if (round % 2 == 0) config.stop = {};
    const auto summary = bench.run(config, {.seed = static_cast<std::uint64_t>(round), .workers = 3, .seed_noise = 3});
    ASSERT_TRUE(summary.ok()) << summary.error().text();
    ASSERT_EQ(summary->reason, "guard");
    const StudyView view = bench.view();
    const auto is_cut = [&](const std::vector<const TrialView*>& trainings) {
      return std::ranges::any_of(
          trainings, [](const TrialView* each) { return each->outcome->kind == study::OutcomeKind::kCancelled; });
    };
    std::set<TrialId> complete, cut;
    for (const auto& [decisions, trainings] : by_proposal(view)) {
      std::size_t trained = 0;
      for (const TrialView* each : trainings) trained += study::ranks(*each, *each->outcome) ? 1 : 0;
      const bool whole = !is_cut(trainings) && std::cmp_equal(trained, folds);
      for (const TrialView* each : trainings) {
        if (whole) complete.insert(each->id);
        if (is_cut(trainings) && trained > 0) cut.insert(each->id);
      }
    }
    both += !complete.empty() && !cut.empty() ? 1 : 0;
    if (!complete.empty()) {
      ASSERT_TRUE(view.winner) << "round " << round;
      EXPECT_TRUE(complete.contains(*view.winner)) << "round " << round;
    } else if (!cut.empty()) {
      ++incomplete_alone;
      ASSERT_TRUE(view.winner) << "what there is, is better than nothing; round " << round;
      EXPECT_TRUE(study::ranking_keys(view).front().is_incomplete);
    }
  }
  EXPECT_GT(both, 20U);
  EXPECT_GT(incomplete_alone, 0U);
}

TEST(FoldedStudy, RanksProposalsByTheMeanOverTheirFolds) {
  Bench bench;
  bench.data = folded_data(3);
  study::StudyConfig config = folded_study(3, 1);
  config.stop = {};
  ASSERT_TRUE(bench.run(config, {.seed = 9, .workers = 2, .seed_noise = 3}).ok());
  const StudyView view = bench.view();
  double best = -1;
  TrialId named;
  for (const auto& [decisions, trainings] : by_proposal(view)) {
    ASSERT_EQ(trainings.size(), 3U);
    double mean = 0, own = -1;
    TrialId of_own;
    for (const TrialView* trial : trainings) {
      const double value = study::result_of(config, *trial).metrics.at("val_accuracy");
      mean += value / 3;
      if (value > own) of_own = trial->id;
      own = std::max(own, value);
    }
    if (mean > best) named = of_own;
    best = std::max(best, mean);
  }
  ASSERT_TRUE(view.winner);
  EXPECT_EQ(*view.winner, named);
  EXPECT_NEAR(-study::ranking_keys(view).front().losses.at(0).second, best, 1e-12);
}

TEST(FoldedStudy, PackagesAllTrainingsOfWinner) {
  Bench bench;
  bench.data = folded_data(3);
  for (data::DataSpec& fold : bench.data.folds) {
    const double k = static_cast<double>(&fold - bench.data.folds.data());
    fold.normalization = {{0.5 + k}, {2 + k}};
  }
  bench.data.normalization = bench.data.folds[0].normalization;
  study::StudyConfig config = folded_study(3, 1);
  config.stop = {};
  ASSERT_TRUE(bench.run(config, {.seed = 9, .workers = 2, .seed_noise = 3}).ok());

  const StudyView view = bench.view();
  ASSERT_TRUE(view.ensemble);
  EXPECT_EQ(view.ensemble->members.front().trial, view.winner);
  EXPECT_EQ(view.ensemble->shares(), std::vector<double>(3, 1.0 / 3));
  EXPECT_TRUE(view.ensemble->validation.empty()) << "no rows that none of them trained on";
  EXPECT_TRUE(view.ensemble->test.contains("test_accuracy"));
  EXPECT_TRUE(view.test.contains("test_accuracy"));
  const auto package = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_EQ(package->facts.at("schema"), 4);
  EXPECT_EQ(package->data.hash, bench.data.hash);
  EXPECT_EQ(package->data.normalization, data::Normalization());
  EXPECT_FALSE(package->facts.at("data").contains("folds"));
  std::set<std::int64_t> folds;
  const store::CheckpointStore checkpoints(bench.disk, kFolder);
  for (std::size_t k = 0; k < 3; ++k) {
    const TrialView& trial = view.trials[view.ensemble->members[k].trial.value - 1];
    EXPECT_EQ(study::decisions_key(trial.proposal), study::decisions_key(view.trials[view.winner->value - 1].proposal));
    const auto& facts = package->facts.at("members")[k];
    EXPECT_EQ(facts.at("trial"), trial.id.value);
    EXPECT_EQ(facts.at("fold"), *trial.proposal.fold);
    folds.insert(*trial.proposal.fold);
    const auto& units = package->members[k].own_preprocessing;
    ASSERT_TRUE(units);
    EXPECT_EQ(units->features, bench.data.folds[static_cast<std::size_t>(*trial.proposal.fold)].normalization);
    const auto kept = store::selected_weights(*checkpoints.get(trial.outcome->weights));
    EXPECT_EQ(package->members[k].weights.front(), kept.front());
  }
  EXPECT_EQ(folds.size(), 3U);
  EXPECT_FALSE(bench.disk.exists(kFolder + "/best/model.graph"));
}

TEST(FoldedStudy, BlendsByMeanOverFolds) {
  Bench bench;
  bench.data = folded_data(3);
  study::StudyConfig config = folded_study(3, 1);
  config.stop = {};
  config.keep.top = 4;
  config.keep.ensemble = 6;
  const double gain = 0.5;
  ASSERT_TRUE(bench.run(config, {.seed = 9, .workers = 2, .seed_noise = 3, .blend_gain = gain}).ok());

  const StudyView view = bench.view();
  ASSERT_TRUE(view.ensemble);
  EXPECT_EQ(view.ensemble->members.front().trial, view.winner);
  // All trainings of every proposal, with equal shares.
  std::map<Digest, std::map<std::int64_t, std::int64_t>> selections;
  for (const auto& member : view.ensemble->members) {
    const study::Proposal& proposal = view.trials[member.trial.value - 1].proposal;
    selections[study::decisions_key(proposal)][*proposal.fold] = member.selections;
  }
  ASSERT_GT(selections.size(), 1U);
  // The executor's result for the blend on each fold, computed again.
  double mean = 0;
  for (std::int64_t fold = 0; fold < 3; ++fold) {
    double value = 0, squares = 0, all = 0;
    for (const auto& [key, of] : selections) all += static_cast<double>(of.at(fold));
    for (const auto& member : view.ensemble->members) {
      const TrialView& trial = view.trials[member.trial.value - 1];
      if (*trial.proposal.fold != fold) continue;
      const double share = static_cast<double>(member.selections) / all;
      value += share * study::result_of(config, trial).metrics.at("val_accuracy");
      squares += share * share;
    }
    mean += (value + gain * (1 - squares)) / 3;
  }
  for (const auto& [key, of] : selections) {
    ASSERT_EQ(of.size(), 3U);
    EXPECT_EQ(of.at(0), of.at(1));
    EXPECT_EQ(of.at(0), of.at(2));
  }
  EXPECT_NEAR(view.ensemble->validation.at("val_accuracy"), mean, 1e-12);
  EXPECT_GT(mean, -study::ranking_keys(view).front().losses.at(0).second);
  EXPECT_TRUE(view.ensemble->test.contains("test_accuracy"));
  const auto package = read_package(bench.disk, kFolder + "/best", graph::builtin_ops());
  ASSERT_TRUE(package) << package.error().text();
  EXPECT_EQ(package->members.size(), 3 * selections.size());
  EXPECT_EQ(package->shares(), view.ensemble->shares());
}

TEST(FoldedStudy, KeepsWeightsOfKeptProposalsOnly) {
  Bench bench;
  bench.data = folded_data(3);
  study::StudyConfig config = folded_study(3, 1);
  config.keep.top = 2;
  ASSERT_TRUE(bench.run(config, kDisturbedFolds).ok());
  const StudyView view = bench.view();
  const auto ranked = study::ranking_keys(view);
  ASSERT_GT(ranked.size(), 2U);
  const store::CheckpointStore checkpoints(bench.disk, kFolder);
  const auto kept = [&](const TrialView& trial) {
    return trial.outcome && !trial.outcome->weights.empty() &&
           bench.disk.exists(checkpoints.path(trial.outcome->weights));
  };
  std::set<Digest> best;
  for (std::size_t i = 0; i < 2; ++i) {
    best.insert(study::decisions_key(view.trials[ranked[i].trial.value - 1].proposal));
  }
  std::size_t files = 0;
  for (const auto& [key, trainings] : by_proposal(view)) {
    // Whether a proposal is among the best is not known while it lacks trainings.
    if (!study::trainings_done(config, study::training_counts_of(trainings))) continue;
    for (const TrialView* trial : trainings) {
      EXPECT_EQ(kept(*trial), best.contains(key) && trial->outcome && !trial->outcome->weights.empty());
      files += kept(*trial) ? 1 : 0;
    }
  }
  EXPECT_GT(files, 3U);
}

/// As studies were left before there was this: of a proposal the named training's weights alone, and its package.
TEST(FoldedStudy, RetrainsMissingWeights) {
  Bench bench;
  bench.data = folded_data(3);
  study::StudyConfig config = folded_study(3, 1);
  config.stop = {};
  ASSERT_TRUE(bench.run(config, {.workers = 2}).ok());
  const auto whole = best_files(bench.disk);
  const StudyView view = bench.view();
  const store::CheckpointStore checkpoints(bench.disk, kFolder);
  for (const auto& member : view.ensemble->members) {
    if (member.trial == *view.winner) continue;
    ASSERT_TRUE(bench.disk.remove(checkpoints.path(view.trials[member.trial.value - 1].outcome->weights)));
  }
  ASSERT_TRUE(bench.disk.remove(kFolder + "/best/package.json"));

  ASSERT_TRUE(bench.resume({.workers = 1}));

  EXPECT_EQ(best_files(bench.disk), whole);
}

TEST(FoldedStudy, ResumesIdenticallyAfterKillAtAnyMoment) {
  FakeOptions options = kDisturbedFolds;
  options.seed_noise = 0.3;
  options.blend_gain = 0.5;
  study::StudyConfig config = folded_study(3, 1);
  config.keep.ensemble = 4;
  Bench reference;
  reference.data = folded_data(3);
  auto snapshots = testing::snapshots_of(reference, [&](FileSystem& fs) { return reference.run(config, options, fs); });
  const testing::Files best = best_files(reference.disk);
  EXPECT_TRUE(best.contains(kFolder + "/best/members/1.graph"));
  const auto has_log =
      std::ranges::find_if(snapshots, [](const testing::Files& files) { return files.contains(testing::kLog); });
  snapshots.erase(snapshots.begin(), has_log + 2);
  ASSERT_GT(snapshots.size(), 100U);

  for (std::size_t cut = 0; cut < snapshots.size(); cut += 3) {
    Bench bench;
    bench.data = folded_data(3);
    testing::put_all(bench.disk, snapshots[cut]);
    options.seed = cut;
    const auto summary = bench.resume(options);
    ASSERT_TRUE(summary.ok()) << "cut before change " << cut << ": " << summary.error().text();
    ASSERT_EQ(bench.canonical(), reference.canonical()) << "cut before change " << cut;
    ASSERT_EQ(best_files(bench.disk), best) << "cut before change " << cut;
  }
}

TEST(FoldedStudy, RefusesDataWithOtherFolds) {
  for (const std::int64_t dealt : {0, 3, 7}) {
    Bench bench;
    bench.data = dealt == 0 ? testing::small_data() : folded_data(dealt);
    const auto summary = bench.run(folded_study(3, 2), {});
    ASSERT_FALSE(summary.ok());
    EXPECT_EQ(summary.error().where, "data.folds");
  }
  Bench bench;
  bench.data = folded_data(3);
  EXPECT_FALSE(bench.run(small_study(4), {}).ok()) << "folds that no study asks for";
}

TEST(FoldedStudy, CountsTheStepsOfEachFoldsRows) {
  study::StudyConfig config = folded_study(2, 1);
  data::DataSpec data = folded_data(2);
  data.folds[0].split_rows = {8, 8, 4};
  data.folds[1].split_rows = {40, 8, 4};
  EXPECT_EQ(epoch_schedule_of(config, data.folds[0], {}).length, 1);
  EXPECT_EQ(epoch_schedule_of(config, data.folds[1], {}).length, 5);
  study::TrialView trial;
  trial.proposal.fold = 2;
  const auto job = make_job(config, data, trial, {});
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(job.error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace lanista::engine
