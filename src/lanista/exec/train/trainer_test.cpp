#include "lanista/exec/train/trainer.h"

#include <gtest/gtest.h>

#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

graph::Graph mlp(int outputs) {
  return *graph::parse(
      "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=64)\n%3 = relu(%2)\n%4 = linear(%3, out=" +
      std::to_string(outputs) + ")\n%5 = output(%4)\n");
}
graph::Graph cnn() {
  return *graph::parse(
      "%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, kernel=[3], out=16, padding=[1])\n%2 = relu(%1)\n%3 = max_pool2d(%2, "
      "kernel=[2])\n"
      "%4 = flatten(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n");
}

TrainerInput input(const std::string& base) {
  study::Recipe recipe = basic_recipe("sgd", "cosine", 3, 32, 0.1);
  recipe.momentum = 0.9;
  return digits_trial(base == "mlp" ? mlp(10) : cnn(), recipe);
}

void train(Trainer& trainer, std::int64_t steps) {
  for (std::int64_t i = 0; i < steps; ++i) trainer.step();
}

TEST(Trainer, LearnsTheDigits) {
  for (const auto* base : {"mlp", "cnn"}) {
    auto trainer = Trainer::create(input(base));
    ASSERT_TRUE(trainer) << trainer.error().text();

    train(*trainer, 3 * trainer->steps_per_epoch());

    ASSERT_EQ(trainer->measurements().size(), 3U);
    const auto& last = trainer->measurements().back();
    EXPECT_EQ(last.epoch, 3);
    EXPECT_EQ(last.step, 3 * 40);
    EXPECT_EQ(last.trial, TrialId{4});
    EXPECT_GT(last.metrics.at("val_accuracy"), 0.85);
    EXPECT_LT(last.metrics.at("train_loss"), trainer->measurements().front().metrics.at("train_loss"));
    EXPECT_GT(trainer->evaluate(data::Part::kTest, "test_").at("test_accuracy"), 0.85);
  }
}

// The promise of exact resume, at every kind of place: before the first step, inside an epoch, between epochs.
TEST(Trainer, ResumesToTheSameBitsFromAnySavedState) {
  auto straight = Trainer::create(input("cnn"));
  ASSERT_TRUE(straight);
  const std::int64_t total = 2 * straight->steps_per_epoch() + 7;
  train(*straight, total);

  for (const std::int64_t cut : {0, 1, 39, 40, 41, 80, 86}) {
    auto first = Trainer::create(input("cnn"));
    train(*first, cut);
    const auto saved = first->save();
    auto second = Trainer::create(input("cnn"));
    second->step();  // restoring must wipe what was there
    ASSERT_TRUE(second->restore(saved));
    train(*second, total - cut);

    EXPECT_EQ(second->save().tensors, straight->save().tensors) << cut;
    EXPECT_EQ(second->save().facts, straight->save().facts) << cut;
  }
}

TrainerInput augmented() {
  TrainerInput in = input("cnn");
  in.recipe.augment = {{"crop", {{"pad", 1}}}, {"flip"}, {"noise", {{"std", 0.2}}}};
  return in;
}

// An epoch that others prepared holds the same samples, from its beginning and from anywhere inside.
TEST(Trainer, GivesTheSameBitsOnSharedEpochs) {
  data::EpochCache epochs(digits(), std::int64_t{1} << 30, nullptr);
  TrainerInput shared = augmented();
  shared.epochs = &epochs;
  auto alone = Trainer::create(augmented()), first = Trainer::create(shared), second = Trainer::create(shared);
  ASSERT_TRUE(alone && first && second);
  const std::int64_t steps = alone->steps_per_epoch() + 9;
  train(*alone, steps);
  train(*first, steps);
  const TrainerState saved = first->save();
  ASSERT_TRUE(second->restore(saved));
  EXPECT_EQ(saved.tensors, alone->save().tensors);

  train(*alone, 40);
  train(*second, 40);

  EXPECT_EQ(second->save().tensors, alone->save().tensors);
  EXPECT_EQ(second->save().facts, alone->save().facts);
}

TEST(Trainer, ResumesToTheSameBitsWithAugmentation) {
  auto straight = Trainer::create(augmented());
  ASSERT_TRUE(straight) << straight.error().text();
  const std::int64_t total = straight->steps_per_epoch() + 7;
  train(*straight, total);

  for (const std::int64_t cut : {1, 40, 43}) {
    auto first = Trainer::create(augmented());
    train(*first, cut);
    auto second = Trainer::create(augmented());
    ASSERT_TRUE(second->restore(first->save()));
    train(*second, total - cut);

    EXPECT_EQ(second->save().tensors, straight->save().tensors) << cut;
    EXPECT_EQ(second->save().facts, straight->save().facts) << cut;
  }
}

TEST(Trainer, AugmentsForTrainingAndNotForEvaluation) {
  auto plain = Trainer::create(input("cnn")), other = Trainer::create(augmented());
  TrainerInput nothing_added = input("cnn");
  nothing_added.recipe.augment = {{"noise", {{"std", 0}}}};
  auto same = Trainer::create(nothing_added);

  EXPECT_EQ(other->evaluate(data::Part::kTrain, ""), plain->evaluate(data::Part::kTrain, ""));
  for (auto* trainer : {&plain, &other, &same}) train(**trainer, 3);
  EXPECT_NE(other->save().tensors, plain->save().tensors);
  EXPECT_EQ(same->save().tensors, plain->save().tensors);
  TrainerInput unfit = input("mlp");
  unfit.recipe.augment = {{"crop", {{"pad", 8}}}};
  EXPECT_FALSE(Trainer::create(unfit));
}

TEST(Trainer, RefusesAStateThatDoesNotFit) {
  auto trainer = Trainer::create(input("mlp"));
  train(*trainer, 5);
  const auto good = trainer->save();

  for (const auto* missing : {"step", "loss_sum", "measurements"}) {
    auto bad = good;
    bad.facts.erase(missing);
    const auto restored = trainer->restore(bad);
    ASSERT_FALSE(restored);
    EXPECT_EQ(restored.error().code, Code::kDataLoss);
    EXPECT_NE(restored.error().message.find(missing), std::string::npos);
  }
  auto bad = good;
  bad.tensors.pop_back();
  EXPECT_FALSE(trainer->restore(bad));
  bad = good;
  bad.facts["step"] = "40";
  EXPECT_FALSE(trainer->restore(bad));
  EXPECT_EQ(trainer->save().tensors, good.tensors);
}

TEST(Trainer, RefusesWhatDoesNotFitTheData) {
  auto wrong_loss = input("mlp");
  wrong_loss.recipe.loss = "mse";
  EXPECT_FALSE(Trainer::create(wrong_loss));

  auto wrong_width = input("mlp");
  wrong_width.model = mlp(7);
  const auto refused = Trainer::create(wrong_width);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("7 numbers a sample"), std::string::npos);

  auto wrong_metric = input("mlp");
  wrong_metric.metrics = {"mae"};
  EXPECT_FALSE(Trainer::create(wrong_metric));

  MemoryBudget tiny(1000);
  auto too_big = input("mlp");
  too_big.budget = &tiny;
  const auto starved = Trainer::create(too_big);
  ASSERT_FALSE(starved);
  EXPECT_EQ(starved.error().code, Code::kResourceExhausted);
}

TEST(Trainer, DerivesWeightsAndDataOrderFromSeparateSeeds) {
  auto a = Trainer::create(input("mlp"));
  auto other_seed = input("mlp");
  other_seed.trial_seed = 99;
  auto b = Trainer::create(other_seed);
  auto other_data = input("mlp");
  other_data.data_seed = 99;
  auto c = Trainer::create(other_data);

  EXPECT_NE(a->save().tensors, b->save().tensors);
  EXPECT_EQ(a->save().tensors, c->save().tensors);
  train(*a, 1);
  train(*c, 1);
  EXPECT_NE(a->save().tensors, c->save().tensors);
}

}  // namespace
}  // namespace lanista::train
