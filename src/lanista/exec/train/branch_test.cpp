// A fork computes the bits that its parent would compute, and is otherwise independent.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "lanista/base/rng.h"
#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/program/allocation_counter.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

std::string random_model(Rng& rng) {
  static const std::array kMiddles{"relu(%2)", "dropout(%2, p=0.3)", "batch_norm(%2)", "gelu(%2)"};
  const std::string first = rng.bernoulli(0.7) ? "%1 = flatten(%0)\n%2 = linear(%1, out=12)\n"
                                               : "%1 = conv2d(%0, out=2, kernel=[3,3])\n%2 = batch_norm(%1)\n";
  return "%0 = input(shape=[1,8,8])\n" + first + "%3 = " + kMiddles[rng.below(kMiddles.size())] +
         "\n%4 = dropout(%3, p=0.2)\n%5 = flatten(%4)\n%6 = linear(%5, out=10)\n%7 = output(%6)\n";
}

TrainerInput random_trial(Rng rng, std::uint32_t id) {
  study::Recipe recipe;
  recipe.loss = "cross_entropy";
  recipe.optimizer = autodiff::optimizers()[rng.below(autodiff::optimizers().size())].name;
  recipe.schedule = std::array{"constant", "step", "cosine"}[rng.below(3)];
  recipe.step_every = 3;
  recipe.step_factor = 0.5;
  recipe.warmup_epochs = rng.bernoulli(0.3) ? 1.5 : 0;
  recipe.precision = rng.bernoulli(0.2) ? "float64" : "float32";
  recipe.epochs = 30;
  recipe.batch = 300;  // five steps an epoch, the last one short
  recipe.lr = rng.uniform(0.001, 0.05);
  recipe.momentum = 0.9;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  recipe.shards = rng.between(1, 2);
  recipe.accumulate = rng.between(1, 2);
  if (rng.bernoulli(0.5)) recipe.augment = {{"noise", {{"std", 0.1}}}};
  const std::array<study::PluginConfig, 5> selectors{
      study::PluginConfig{}, study::PluginConfig{"selective", {{"beta", 1}, {"warmup_epochs", 0}}},
      study::PluginConfig{"selective", {{"beta", 2}, {"stale", 2}, {"history", 400}, {"interrupt", 4}}},
      study::PluginConfig{"selective", {{"beta", 2}, {"clock", "trained"}}},
      study::PluginConfig{"selective", {{"beta", 3}, {"history", 64}}}};
  recipe.select = selectors[rng.split("selector").below(selectors.size())];
  return {.trial = TrialId{id},
          .model = *graph::parse(random_model(rng)),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = rng.next(),
          .data_seed = rng.next(),
          .data = &digits(),
          .step_ops = &ops()};
}

void step(LaneGroup& group, std::vector<TrialRun*> runs) {
  for (TrialRun* run : runs) ASSERT_TRUE(group.admit(*run));
  std::vector<StepResult> ends(runs.size());
  group.step(runs, ends);
  for (const StepResult& end : ends) ASSERT_EQ(end.failure, "");
}

// The equivalent run has an input with the setting of the fork.
TEST(Branch, ForkTrainsAsTrialWithItsSetting) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Rng root(seed);
    Rng rng = root.split("moments");
    const TrainerInput input = random_trial(root.split("trial"), 3);
    LaneGroup group = *LaneGroup::create(input, 2);
    TrialRun parent = *TrialRun::create(input);
    for (std::uint64_t i = 1 + rng.below(14); i > 0; --i) step(group, {&parent});
    const TrainerState before = parent.save();
    TrainerInput other = input;
    other.recipe.lr = rng.uniform(0.001, 0.05);
    other.recipe.clip_norm = 0.5;
    TrialRun equal_run = *TrialRun::create(other);
    ASSERT_TRUE(equal_run.restore(before));

    TrialRun fork = *BranchPoint(parent).fork({{"lr", other.recipe.lr}, {"clip_norm", 0.5}});

    EXPECT_EQ(fork.recipe().lr, other.recipe.lr);
    EXPECT_EQ(fork.recipe().optimizer, other.recipe.optimizer);
    EXPECT_EQ(fork.rows().seed(), input.data_seed);
    for (int i = 0; i < 20; ++i) {
      step(group, {&fork});
      step(group, {&equal_run});
    }
    EXPECT_TRUE(fork.save().tensors == equal_run.save().tensors);
    EXPECT_EQ(parent.recipe().lr, input.recipe.lr);
    EXPECT_EQ(parent.rows().seed(), input.data_seed);
    EXPECT_TRUE(parent.save().tensors == before.tensors);
  }
}

// Whatever a trial is made of, a fork of it shares. It asks for memory for lists of numbers, and for nothing else.
TEST(Branch, ForkCopiesOnlyNumbers) {
  using program::testing::AllocationCounter;
  if (!AllocationCounter::works()) GTEST_SKIP() << "a sanitizer has the allocator";
  TrainerInput bare = random_trial(Rng(1), 3);
  bare.recipe.augment.clear();
  bare.recipe.select = {};
  TrainerInput rich = bare;
  rich.recipe.augment = {{"noise", {{"std", 0.1}}}, {"noise", {{"std", 0.2}}}, {"noise", {{"std", 0.3}}}};
  rich.recipe.tune = {"mltuner", {{"params", {{"lr", "log(1e-4, 1)"}, {"weight_decay", "log(1e-6, 1e-2)"}}}}};
  rich.recipe.rates = {{graph::NodeId{2}, 0.5}};
  rich.metrics = {"accuracy", "f1_macro"};
  rich.keep.goals = {study::Goal{}, study::Goal{false, "val_loss"}};
  rich.known = {{"params", 4711.0}, {"flops", 1e6}};
  for (const TrainerInput& input : {bare, rich}) {
    LaneGroup group = *LaneGroup::create(input, 1);
    auto parent = TrialRun::create(input);
    ASSERT_TRUE(parent) << parent.error().text();
    for (int i = 0; i < 3; ++i) step(group, {&*parent});
    parent->release_lane();
    const space::Sample setting{{"lr", 0.01}};
    ASSERT_TRUE(BranchPoint(*parent).fork(setting));  // tables of names are made once
    std::int64_t asked = 0;
    {
      const AllocationCounter counter;
      const auto fork = BranchPoint(*parent).fork(setting);
      asked = fork ? counter.count() : -1;
    }
    EXPECT_EQ(asked, input.recipe.rates.empty() ? 2 : 3);  // settings, dropout's shares, rates by part
  }
}

}  // namespace
}  // namespace lanista::train
