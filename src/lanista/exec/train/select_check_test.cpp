// A trial with a selection comparison continues like one that always trained so.
#include "lanista/exec/train/select_check.h"
#include "lanista/exec/train/branch_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lanista/exec/train/trainer.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/test_support.h"
#include "support/exec/train/train_to_end.h"

namespace lanista::train {
namespace {

using testing::never_stop;
using testing::Trained;

TrainerInput trial(study::PluginConfig select) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = "sgd";
  recipe.schedule = "cosine";
  recipe.precision = "float32";
  recipe.epochs = 4;
  recipe.batch = 100;  // thirteen steps an epoch
  recipe.lr = 0.05;
  recipe.momentum = 0.9;
  recipe.select = std::move(select);
  return digits_trial(*graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=12)\n"
                                    "%3 = batch_norm(%2)\n%4 = dropout(%3, p=0.1)\n%5 = linear(%4, out=10)\n"
                                    "%6 = output(%5)\n"),
                      recipe);
}

/// That asks; decided by the loss.
TrainerInput guarded(Options options = Options::object(), const char* on = "val_loss") {
  options["on"] = on;
  return trial({"auto", std::move(options)});
}

Trained train_to_end(const TrainerInput& input, std::int64_t lanes, const std::function<bool(std::int64_t)>& cut = {}) {
  const auto check = [](LaneGroup& group, TrialRun& run) {
    if (!is_select_check_due(run)) return;
    const auto checked = run_select_check(group, run, never_stop);
    EXPECT_TRUE(checked) << checked.error().text();
    EXPECT_FALSE(is_select_check_due(run));
  };
  return testing::train_to_end(input, lanes, check, cut);
}

/// State and metrics without the facts of the selection.
void expect_same_numbers(Trained a, Trained b) {
  for (Trained* one : {&a, &b}) {
    std::erase_if(one->state.tensors, Selection::is_selection_tensor);
    for (auto& measurement : one->measurements) measurement.metrics.erase("trained_rows");
  }
  EXPECT_EQ(a.state.tensors, b.state.tensors);
  ASSERT_EQ(a.measurements.size(), b.measurements.size());
  for (std::size_t i = 0; i < a.measurements.size(); ++i) {
    EXPECT_EQ(a.measurements[i].metrics, b.measurements[i].metrics) << i;
    EXPECT_EQ(a.measurements[i].step, b.measurements[i].step);
  }
}

const std::vector<study::SelectBranch>& branches_of(const Trained& trained) {
  return trained.measurements.at(1).selecting;
}

study::PluginConfig selective(Options options = Options::object()) { return {"selective", std::move(options)}; }

// Either winner gives the same bits.
TEST(SelectCheck, MatchesATrialThatAlwaysTrainedSo) {
  const Options renewed{{"beta", 6}, {"recalibrate", 3}};
  int chosen = 0, all = 0;
  for (const char* on : {"val_loss", "val_accuracy"}) {
    // Where looking at rows costs next to nothing, chosen ones win.
    for (Options options : {Options{{"beta", 1}}, renewed, Options{{"stale", 2}, {"clock", "trained"}},
                            Options{{"beta", 1}, {"backward", 100}}}) {
      const Trained asked = train_to_end(guarded(options, on), 3);
      const auto& branches = branches_of(asked);
      ASSERT_EQ(branches.size(), 2U);
      ASSERT_EQ(branches[0].kept, !branches[1].kept);
      ++(branches[0].kept ? chosen : all);
      Options plain = options;
      plain.erase("backward");
      if (!branches[0].kept) plain["until"] = 0;
      const Trained always = train_to_end(trial(selective(plain)), 1);
      expect_same_numbers(asked, always);
      EXPECT_TRUE(asked.measurements[0].selecting.empty());
      EXPECT_TRUE(asked.measurements[2].selecting.empty());
      EXPECT_EQ(branches[0].step, 13);
    }
  }
  EXPECT_GE(chosen, 1);
  EXPECT_GE(all, 1);
}

// Each branch by a training of its own, and the passes counted from outside.
TEST(SelectCheck, ComparesTheTwoAtEqualComputation) {
  for (const double backward : {2.0, 0.5}) {
    const Options own{{"beta", 2}};
    Options options = own;
    options["steps"] = 9;
    options["backward"] = backward;
    const Trained asked = train_to_end(guarded(options), 2);
    const auto& branches = branches_of(asked);
    for (const bool selects : {true, false}) {
      const study::SelectBranch& reported = branches[selects ? 0 : 1];
      Options plain = own;
      if (!selects) plain["until"] = 0;
      Trainer alone = *Trainer::create(trial(selective(plain)));
      for (std::int64_t step = 0; step < 13 + reported.steps; ++step) alone.step();
      const TrainerState state = alone.save();
      const auto counts =
          std::ranges::find(state.tensors, "select:counts", &Tensor::name);  // rows of the epoch trained on: the fourth
      const auto trained = static_cast<double>(elements_of<std::int64_t>(*counts)[3]);
      const auto looked = selects ? 100.0 * static_cast<double>(reported.steps) : 0.0;
      EXPECT_DOUBLE_EQ(reported.cost, (looked + (1 + backward) * trained) / ((1 + backward) * 100));
      EXPECT_EQ(reported.value, alone.evaluate(data::Part::kValidation, "val_").at("val_loss"));
      EXPECT_EQ(reported.metric, "val_loss");
    }
    EXPECT_EQ(branches[0].steps, 9);
    EXPECT_NEAR(branches[1].cost, branches[0].cost, 0.5);
    EXPECT_LT(std::abs(branches[0].value - branches[1].value) < 1e-12 ? 1 : 0, 1) << "they are two trainings";
    EXPECT_EQ(branches[0].kept, branches[0].value < branches[1].value);
  }
}

TEST(SelectCheck, KeepsAllRowsOnATie) {
  for (const char* on : {"val_loss", "val_accuracy"}) {
    TrainerInput still = guarded(Options::object(), on);
    still.recipe.lr = 0;
    still.model =
        *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=10)\n%3 = output(%2)\n");
    const auto& branches = branches_of(train_to_end(still, 2));
    EXPECT_EQ(branches[0].value, branches[1].value);
    EXPECT_TRUE(branches[1].kept);
  }
}

// Running statistics are renewed before a branch is measured, on a copy: before its first epoch ends, a trial that
// renews them has the state of one that does not, and keeps it, but measures otherwise.
TEST(SelectCheck, RecalibratesStatisticsBeforeMeasuringWhenConfigured) {
  std::vector<TrainerState> states;
  std::vector<std::map<std::string, double>> measured;
  for (const std::int64_t batches : {0, 4}) {
    const TrainerInput input = trial({"selective", {{"beta", 2}, {"warmup_epochs", 0}, {"recalibrate", batches}}});
    auto group = LaneGroup::create(input, 2);
    ASSERT_TRUE(group);
    TrialRun run = *TrialRun::create(input);
    ASSERT_TRUE(group->admit(run));
    TrialRun* const one = &run;
    for (int step = 0; step < 5; ++step) {
      StepResult end;
      group->step({&one, 1}, {&end, 1});
    }
    const auto metrics = group->measure_copy(run);
    ASSERT_TRUE(metrics);
    measured.push_back(*metrics);
    states.push_back(run.save());
  }
  EXPECT_EQ(states[0].tensors, states[1].tensors);
  EXPECT_NE(measured[0].at("val_loss"), measured[1].at("val_loss"));
}

TEST(SelectCheck, LeavesTheLastStepOfAnEpochToTheTrial) {
  const Trained asked = train_to_end(guarded({{"steps", 1000}, {"beta", 0.1}}), 2);
  const auto& branches = branches_of(asked);
  // Looking at all rows and training on most of them costs more than training: by the end of the epoch it would be
  // ahead of all that the other could do.
  EXPECT_LT(branches[0].steps, 12);
  EXPECT_LE(branches[1].steps, 12);
  EXPECT_GT(branches[0].cost, 9);
  EXPECT_NEAR(branches[0].cost, branches[1].cost, 0.5);
}

TEST(SelectCheck, GivesSameBitsWithAnyLanesAndInterruptions) {
  const TrainerInput input = guarded({{"every", 1}, {"recalibrate", 2}, {"steps", 5}});
  const Trained whole = train_to_end(input, 4);
  ASSERT_EQ(whole.measurements[2].selecting.size(), 2U);
  const auto same = [&](const Trained& other) {
    EXPECT_EQ(other.state.tensors, whole.state.tensors);
    EXPECT_EQ(other.state.facts, whole.state.facts);
    for (std::size_t i = 0; i < whole.measurements.size(); ++i) {
      EXPECT_EQ(other.measurements[i].selecting, whole.measurements[i].selecting);
    }
  };
  for (const std::int64_t lanes : {1, 2, 7}) same(train_to_end(input, lanes));
  same(train_to_end(input, 2, [](std::int64_t) { return true; }));
}

TEST(SelectCheck, RepeatsAnInterruptedCheckToTheSameBits) {
  const TrainerInput input = guarded({{"warmup_epochs", 0}, {"steps", 6}});
  auto group = LaneGroup::create(input, 2);
  TrialRun run = *TrialRun::create(input);
  ASSERT_TRUE(group->admit(run));
  const TrainerState before = run.save();
  for (const int most : {0, 3, 8}) {
    int asked = 0;
    const auto left = run_select_check(*group, run, [&] { return asked++ == most; });
    ASSERT_TRUE(left) << left.error().text();
    EXPECT_FALSE(*left);
    EXPECT_TRUE(is_select_check_due(run));
    EXPECT_EQ(run.save().tensors, before.tensors);
    EXPECT_EQ(run.save().facts, before.facts);
  }
}

TEST(SelectCheck, ReplaysItsResultToTheSameBits) {
  const TrainerInput input = guarded({{"every", 1}, {"steps", 4}});
  const Trained asked = train_to_end(input, 2);
  TrainerInput again = input;
  again.recipe.select = data::with_recorded_selection(input.recipe.select, asked.measurements);
  Trainer played = *Trainer::create(again);
  while (played.epochs_done() < 4) played.step();
  EXPECT_EQ(played.save().tensors, asked.state.tensors);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(played.measurements()[i].metrics, asked.measurements[i].metrics);
    EXPECT_TRUE(played.measurements()[i].selecting.empty());
  }
}

TEST(SelectCheck, TrainsOnAllRowsWithoutACheck) {
  Trainer unasked = *Trainer::create(guarded());
  Trainer plain = *Trainer::create(trial({}));
  for (int i = 0; i < 30; ++i) {
    unasked.step();
    plain.step();
  }
  auto tensors = unasked.save().tensors;
  std::erase_if(tensors, Selection::is_selection_tensor);
  EXPECT_EQ(tensors, plain.save().tensors);
}

TEST(SelectCheck, IsSkippedForEpochsOfOneStep) {
  TrainerInput input = guarded();
  input.recipe.steps_per_epoch = 1;
  const Trained asked = train_to_end(input, 1);
  for (const auto& measurement : asked.measurements) EXPECT_TRUE(measurement.selecting.empty());
}

TEST(SelectCheck, RefusesForeignStates) {
  const TrainerInput input = guarded({{"warmup_epochs", 0}});
  TrialRun run = *TrialRun::create(input);
  EXPECT_EQ(BranchPoint(run).select_branch(true).error().code, Code::kFailedPrecondition);
  TrialRun other = *TrialRun::create(guarded({{"warmup_epochs", 0}}, "val_f1_macro"));
  auto group = LaneGroup::create(input, 1);
  ASSERT_TRUE(group->admit(run));
  ASSERT_TRUE(*run_select_check(*group, run, never_stop));
  ASSERT_TRUE(group->admit(other));
  EXPECT_EQ(run_select_check(*group, other, never_stop).error().message,
            "'val_f1_macro' is not measured; measured are: val_accuracy, val_loss");
  EXPECT_TRUE(is_select_check_due(other));
  TrainerState broken = run.save();
  broken.facts["selecting"] = "no list";
  EXPECT_EQ(run.restore(broken).error().message, "checkpoint's 'selecting' is not a list");
}

}  // namespace
}  // namespace lanista::train
