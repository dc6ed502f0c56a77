// A trial that tunes itself: its numbers are a function of its input alone, whatever lanes, leaves and resumptions
// there are, and the schedule that it found, played back, gives the same bits.
#include "lanista/exec/train/tuning.h"
#include "lanista/exec/train/branch_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/test_support.h"
#include "support/exec/train/train_to_end.h"

namespace lanista::train {
namespace {

using testing::never_stop;
using testing::Trained;

TrainerInput tuned_trial(Options options = Options::object()) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "sgd";
  recipe.schedule = "constant";
  recipe.precision = "float32";
  recipe.epochs = 4;
  recipe.batch = 100;  // thirteen steps an epoch
  recipe.lr = 1e-4;
  recipe.momentum = 0.5;
  options["params"] = {{"lr", "log(1e-4, 1)"}};
  options["retune"] = 1;
  options["trials"] = options.value("trials", 6);
  recipe.tune = {"mltuner", options};
  return digits_trial(*graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n"
                                    "%3 = batch_norm(%2)\n%4 = dropout(%3, p=0.1)\n%5 = linear(%4, out=10)\n"
                                    "%6 = output(%5)\n"),
                      recipe);
}

/// Rates from 1e-4 to 1, sampled uniformly in the logarithm.
Result<study::ProposeSetting> rates(const TrialRun& run) {
  const Rng rng = Rng(run.definition().input.trial_seed)
                      .split(static_cast<std::uint64_t>(past_searches(run.progress().measurements()).count));
  return study::ProposeSetting([rng](std::span<const study::Try> tries) -> std::optional<space::Sample> {
    return space::Sample{{"lr", std::exp(rng.split(tries.size()).uniform(std::log(1e-4), 0.0))}};
  });
}

/// Rates with a batch of one to five of the first.
Result<study::ProposeSetting> rates_and_batches(const TrialRun& run) {
  LANISTA_ASSIGN(const study::ProposeSetting propose, rates(run));
  const Rng rng = Rng(run.definition().input.trial_seed)
                      .split("batch")
                      .split(static_cast<std::uint64_t>(past_searches(run.progress().measurements()).count));
  return study::ProposeSetting([propose, rng](std::span<const study::Try> tries) -> std::optional<space::Sample> {
    auto setting = propose(tries);
    (*setting)["batch"] = static_cast<double>(100 * rng.split(tries.size()).between(1, 5));
    return setting;
  });
}

void expect_same(const Trained& a, const Trained& b) {
  EXPECT_EQ(a.state.tensors, b.state.tensors);
  ASSERT_EQ(a.measurements.size(), b.measurements.size());
  for (std::size_t i = 0; i < a.measurements.size(); ++i) {
    EXPECT_EQ(a.measurements[i].metrics, b.measurements[i].metrics);
    EXPECT_EQ(a.measurements[i].branches, b.measurements[i].branches);
    EXPECT_EQ(a.measurements[i].step, b.measurements[i].step);
  }
}

Trained train_to_end(const TrainerInput& input, std::int64_t lanes, const std::function<bool(std::int64_t)>& cut = {},
                     const MakeSearcher& make = rates) {
  const auto search = [&](LaneGroup& group, TrialRun& run) {
    if (!is_search_due(run)) return;
    const auto searched = search_setting(group, run, make, never_stop);
    EXPECT_TRUE(searched) << searched.error().text();
    EXPECT_FALSE(is_search_due(run));
  };
  return testing::train_to_end(input, lanes, search, cut);
}

TEST(Tuning, FindsAUsableRateWhenTheRecipeHasNone) {
  const Trained tuned = train_to_end(tuned_trial(), 3);
  TrainerInput plain = tuned_trial();
  plain.recipe.tune = {};
  const Trained untuned = train_to_end(plain, 1);

  ASSERT_FALSE(tuned.measurements.front().branches.empty());
  EXPECT_GT(tuned.measurements.back().metrics.at("val_accuracy"), 0.85);
  EXPECT_LT(untuned.measurements.back().metrics.at("val_accuracy"), 0.5);
  EXPECT_EQ(tuned.measurements.back().step, untuned.measurements.back().step);  // branches are no steps of the trial
}

TEST(Tuning, GivesTheSameBitsWithAnyLanes) {
  const TrainerInput input = tuned_trial();
  const Trained alone = train_to_end(input, 1);

  for (const std::int64_t lanes : {2, 5, 8}) expect_same(alone, train_to_end(input, lanes));
}

TEST(Tuning, ResumesExactlyFromAnyStep) {
  const TrainerInput input = tuned_trial();
  const Trained whole = train_to_end(input, 4);

  expect_same(whole, train_to_end(input, 4, [](std::int64_t) { return true; }));
  Rng rng(5);
  expect_same(whole, train_to_end(input, 2, [&](std::int64_t) { return rng.bernoulli(0.2); }));
}

TEST(Tuning, RepeatsAnInterruptedSearchToTheSameBits) {
  const TrainerInput input = tuned_trial();
  auto group = LaneGroup::create(input, 4);
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(group->admit(run));
  const TrainerState before = run.save();
  for (const int most : {0, 3, 11}) {
    int asked = 0;
    const auto left = search_setting(*group, run, rates, [&] { return asked++ == most; });
    ASSERT_TRUE(left) << left.error().text();
    EXPECT_FALSE(*left);
    EXPECT_TRUE(is_search_due(run));
    EXPECT_EQ(run.save().tensors, before.tensors);
    EXPECT_EQ(run.save().facts, before.facts);
  }
}

// What a run has come to since is none of its business then.
TEST(Tuning, RestoresSettingsOfAnEarlierState) {
  const TrainerInput input = tuned_trial();
  auto group = LaneGroup::create(input, 4);
  TrialRun run = *TrialRun::create(input);
  TrialRun* one = &run;
  const auto train = [&](std::int64_t epochs) {
    while (run.progress().epochs_done() < epochs) {
      if (is_search_due(run)) {
        ASSERT_TRUE(search_setting(*group, run, rates, never_stop));
      }
      StepResult end;
      group->step({&one, 1}, {&end, 1});
      ASSERT_EQ(end.failure, "");
    }
  };
  ASSERT_TRUE(group->admit(run));
  const TrainerState early = run.save();
  const double rate = run.updates().setting().lr;
  train(input.recipe.epochs);
  const TrainerState late = run.save();
  ASSERT_NE(run.updates().setting().lr, rate);

  ASSERT_TRUE(run.restore(early));

  EXPECT_EQ(run.updates().setting().lr, rate);
  train(input.recipe.epochs);
  EXPECT_EQ(run.save().tensors, late.tensors);
}

TEST(Tuning, ReplaysAScheduleToTheSameBits) {
  const TrainerInput input = tuned_trial();
  const Trained tuned = train_to_end(input, 4);
  TrainerInput again = input;
  again.recipe.tune = study::replay_schedule(study::schedule_of(tuned.measurements));

  const Trained played = train_to_end(again, 1);

  EXPECT_EQ(played.state.tensors, tuned.state.tensors);
  for (std::size_t i = 0; i < tuned.measurements.size(); ++i) {
    EXPECT_EQ(played.measurements[i].metrics, tuned.measurements[i].metrics);
    EXPECT_TRUE(played.measurements[i].branches.empty());
  }
}

// Larger batches are more steps at once: whatever lanes there are, from any step on, and played back.
TEST(Tuning, TriesLargerBatchesToTheSameBits) {
  int larger = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    // In every third, branches continue as long as they may, and do not end their epoch.
    TrainerInput input = tuned_trial({{"halving", seed % 2 == 0 ? 3 : 2}, {"time", seed % 3 == 0 ? 50 : 4}});
    input.recipe.tune.options["params"]["batch"] = {100, 200, 300, 400, 500};
    input.trial_seed = seed;
    const Trained alone = train_to_end(input, 1, {}, rates_and_batches);
    const auto schedule = study::schedule_of(alone.measurements);
    ASSERT_FALSE(schedule.empty());
    for (const study::SettingAt& at : schedule) {
      larger += std::get<double>(at.setting.at("batch")) > 100 ? 1 : 0;
    }
    EXPECT_EQ(alone.measurements.back().step, 4 * 13);
    for (const study::Measurement& measurement : alone.measurements) {
      for (const study::Branch& branch : measurement.branches) {
        if (branch.setting.empty()) continue;
        const auto stride = static_cast<std::int64_t>(std::get<double>(branch.setting.at("batch")) / 100);
        EXPECT_EQ(branch.steps % stride, 0) << branch.steps;  // whole updates
      }
    }

    expect_same(alone, train_to_end(input, 5, {}, rates_and_batches));
    expect_same(alone, train_to_end(
                           input, 2, [](std::int64_t) { return true; }, rates_and_batches));
    TrainerInput again = input;
    again.recipe.tune = study::replay_schedule(schedule);
    const Trained played = train_to_end(again, 1);
    EXPECT_EQ(played.state.tensors, alone.state.tensors);
    for (std::size_t i = 0; i < played.measurements.size(); ++i) {
      EXPECT_EQ(played.measurements[i].metrics, alone.measurements[i].metrics);
    }
  }
  EXPECT_GE(larger, 2);
}

TEST(Tuning, ForkWithTheSameSettingMatchesTheRun) {
  TrainerInput input = tuned_trial();
  auto group = LaneGroup::create(input, 3);
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(group->admit(run));
  BranchPoint(run).record_search({}, nullptr);
  std::vector<StepResult> ends(1);
  std::vector<TrialRun*> one{&run};
  for (int i = 0; i < 3; ++i) group->step(one, ends);
  TrialRun fork = *BranchPoint(run).fork({{"lr", input.recipe.lr}});
  one = {&fork};
  for (int i = 0; i < 5; ++i) group->step(one, ends);
  one = {&run};
  for (int i = 0; i < 5; ++i) group->step(one, ends);

  EXPECT_EQ(fork.save().tensors, run.save().tensors);
  EXPECT_EQ(fork.progress().loss_sum(), run.progress().loss_sum());
}

TEST(Tuning, LaterSearchesBeginWithLongerBranches) {
  const TrainerInput input = tuned_trial({{"time", 2}, {"together", 4}, {"on", "no_such_metric"}});
  const Trained tuned = train_to_end(input, 4);
  int later = 0;
  for (std::size_t i = 0; i < tuned.measurements.size(); ++i) {
    const auto& branches = tuned.measurements[i].branches;
    if (branches.empty()) continue;
    std::int64_t shortest = 1000;
    for (std::size_t b = 1; b < branches.size(); ++b) shortest = std::min(shortest, branches[b].steps);
    const std::int64_t times = study::search_length_factor(std::span(tuned.measurements).first(i));
    EXPECT_EQ(shortest, std::min<std::int64_t>(i == 0 ? 2 : 2 * times, 12)) << i;  // the thirteenth is the trial's own
    later += i > 0 ? 1 : 0;
  }
  EXPECT_GE(later, 1);
}

TEST(Tuning, BranchesReadTheSameBatches) {
  // So two branches of one setting are equal.
  const auto same = [](const TrialRun&) -> Result<study::ProposeSetting> {
    return study::ProposeSetting([](std::span<const study::Try> tries) -> std::optional<space::Sample> {
      if (tries.size() == 2) return std::nullopt;
      return space::Sample{{"lr", 0.05}};
    });
  };
  const TrainerInput input = tuned_trial();
  auto group = LaneGroup::create(input, 3);
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(group->admit(run));
  ASSERT_TRUE(search_setting(*group, run, same, never_stop));
  run.save();
  StepResult end;
  TrialRun* one = &run;
  while (!end.epoch_ended) group->step({&one, 1}, {&end, 1});
  const auto& branches = run.progress().measurements().front().branches;
  ASSERT_EQ(branches.size(), 3U);
  EXPECT_EQ(branches[1].speed, branches[2].speed);
}

TEST(Tuning, RefusesWhatCannotBe) {
  TrainerInput input = tuned_trial();
  input.recipe.select = {"selective", {{"beta", 1}}};
  EXPECT_EQ(TrialRun::create(input).error().where, "train.tune");
  input = tuned_trial();
  input.recipe.tune.options["params"]["batch"] = {100, 250};
  EXPECT_EQ(TrialRun::create(input).error().where, "train.tune");
  input = tuned_trial();
  TrialRun run = *TrialRun::create(input);
  EXPECT_EQ(BranchPoint(run).fork({{"lr", 0.1}}).error().code, Code::kFailedPrecondition);
  auto group = LaneGroup::create(input, 1);
  ASSERT_TRUE(group->admit(run));
  EXPECT_EQ(BranchPoint(run).fork({{"optimizer", std::string("adam")}}).error().code, Code::kInvalidArgument);
  TrainerState broken = run.save();
  broken.facts["branches"] = "no list";
  EXPECT_EQ(run.restore(broken).error().code, Code::kDataLoss);
}

}  // namespace
}  // namespace lanista::train
