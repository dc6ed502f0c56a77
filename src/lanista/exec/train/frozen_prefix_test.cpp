#include "lanista/exec/train/frozen_prefix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "lanista/exec/program/program.h"
#include "lanista/exec/train/learning_rate.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

using data::StoredSamples;

constexpr std::int64_t kBatch = 32;
constexpr std::uint64_t kDataSeed = 12;
constexpr std::int64_t kRoomy = std::int64_t{1} << 30;

// A backbone with running statistics, and a head with random masks.
const std::string kBackbone =
    "%0 = input(shape=[1,8,8])\n"
    "%1 = conv2d(%0, kernel=[3], out=5)\n"
    "%2 = batch_norm(%1)\n"
    "%3 = relu(%2)\n"
    "%4 = max_pool2d(%3, kernel=[2])\n";
const std::string kHead =
    "%5 = conv2d(%4, kernel=[2], out=6)\n"
    "%6 = relu(%5)\n"
    "%7 = flatten(%6)\n"
    "%8 = dropout(%7, p=0.3)\n"
    "%9 = linear(%8, out=10)\n"
    "%10 = output(%9)\n";
const std::set<graph::NodeId> kFrozen{graph::NodeId{1}, graph::NodeId{2}};

study::Recipe recipe(std::uint64_t trial) {
  study::Recipe recipe =
      basic_recipe(trial % 2 == 0 ? "sgd" : "adam", "cosine", 3, kBatch, trial % 2 == 0 ? 0.05 : 0.003);
  recipe.momentum = 0.9;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.999;
  recipe.eps = 1e-8;
  return recipe;
}

TrainerInput input(const graph::Graph& model, const data::Dataset& data, std::uint64_t trial,
                   data::EpochCache* epochs = nullptr) {
  return {.trial = TrialId{static_cast<std::uint32_t>(trial)},
          .model = model,
          .recipe = recipe(trial),
          .metrics = {},
          .trial_seed = trial,
          .data_seed = kDataSeed,
          .data = &data,
          .step_ops = &ops(),
          .epochs = epochs};
}

Trainer trained(const TrainerInput& in, std::int64_t epochs) {
  auto trainer = Trainer::create(in);
  EXPECT_TRUE(trainer) << trainer.error().text();
  while (trainer->epochs_done() < epochs) trainer->step();
  return *std::move(trainer);
}

// Weights of a backbone that has seen data: its statistics are those of no fresh model.
const std::vector<Tensor>& backbone_weights() {
  static const std::vector<Tensor> weights =
      trained(input(*graph::parse(kBackbone + kHead), digits(), 4), 1).save().tensors;
  return weights;
}

FrozenPrefix backbone() {
  auto prefix = FrozenPrefix::create({.model = *graph::parse(kBackbone + kHead),
                                      .frozen = kFrozen,
                                      .weights = backbone_weights(),
                                      .step_ops = &ops()});
  EXPECT_TRUE(prefix) << prefix.error().text();
  return *std::move(prefix);
}

program::Program program(const graph::Graph& model, autodiff::StepOptions options) {
  auto made = program::Program::compile(*autodiff::derive_training_step(model, options, ops()),
                                        *autodiff::derive_inference_step(model, ops()), {.max_batch = kBatch});
  EXPECT_TRUE(made->begin(0, 0));
  return *std::move(made);
}

void put(program::Program& into, const std::vector<Tensor>& weights) {
  std::vector<Tensor> state = into.extract(0);
  for (Tensor& tensor : state) {
    const auto given = std::ranges::find(weights, tensor.name, &Tensor::name);
    if (given != weights.end() && tensor.name != "step" && tensor.name != "seed") tensor = *given;
  }
  ASSERT_TRUE(into.insert(0, state));
}

struct Whole {
  std::vector<Tensor> state;
  std::vector<double> losses;  // of the epochs
};

// A whole model by hand: for every batch the backbone in inference form, then a step of the head.
Whole by_hand(std::uint64_t trial, std::int64_t epochs) {
  const study::Recipe settings = recipe(trial);
  program::Program front = program(*graph::parse(kBackbone + "%5 = output(%4)\n"), {.loss = "mse"});
  front.initialise(0, 0);
  put(front, backbone_weights());
  program::Program back =
      program(*graph::parse("%4 = input(shape=[5,3,3])\n" + kHead), {"cross_entropy", trial % 2 == 0 ? "sgd" : "adam"});
  back.initialise(0, trial);

  Whole whole;
  std::vector<float> samples(kBatch * 64), values(kBatch * 45);
  std::vector<std::int32_t> labels(kBatch);
  std::int64_t step = 0;
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto order = data::epoch_order(digits().rows(data::Part::kTrain), kDataSeed, epoch);
    const std::int64_t steps = (static_cast<std::int64_t>(order.size()) + kBatch - 1) / kBatch;
    double sum = 0;
    for (std::size_t at = 0; at < order.size(); at += kBatch) {
      program::Batch batch;
      batch.sample_index = std::span(order).subspan(at, std::min<std::size_t>(kBatch, order.size() - at));
      const std::size_t count = batch.sample_index.size();
      batch.size = static_cast<std::int64_t>(count);
      batch.features = std::span(samples).first(count * 64);
      digits().gather_features(batch.sample_index, std::span(samples).first(count * 64));
      digits().gather_labels(batch.sample_index, std::span(labels).first(count));
      front.predict(0, batch, std::span(values).first(count * 45));
      batch.features = std::span(values).first(count * 45);
      batch.labels = std::span(labels).first(count);
      program::LaneHyper hyper;
      hyper.lr = learning_rate(settings, step++, steps);
      hyper.momentum = settings.momentum;
      hyper.beta1 = settings.beta1;
      hyper.beta2 = settings.beta2;
      hyper.eps = settings.eps;
      std::array<double, 1> loss{};
      back.train_step(std::span(&batch, 1), std::array{hyper}, std::array<std::uint8_t, 1>{1}, loss);
      sum += loss[0] * static_cast<double>(count);
    }
    whole.losses.push_back(sum / static_cast<double>(order.size()));
  }
  whole.state = back.extract(0);
  return whole;
}

TEST(FrozenPrefix, GivesHeadsTheBitsOfWholeModels) {
  const FrozenPrefix prefix = backbone();
  for (const StoredSamples keep : {StoredSamples::kNothing, StoredSamples::kValidation, StoredSamples::kAll}) {
    const data::Dataset features = *prefix.features(digits(), keep, nullptr);
    data::EpochCache epochs(features, kRoomy, nullptr);
    for (const bool shared : {false, true}) {
      for (const std::uint64_t trial : {7U, 8U, 9U}) {
        const Trainer head = trained(input(prefix.head(), features, trial, shared ? &epochs : nullptr), 2);
        const Whole whole = by_hand(trial, 2);

        EXPECT_LT(whole.losses[1], whole.losses[0]);
        EXPECT_EQ(head.save().tensors, whole.state);
        EXPECT_EQ(head.measurements()[0].metrics.at("train_loss"), whole.losses[0]);
        EXPECT_EQ(head.measurements()[1].metrics.at("train_loss"), whole.losses[1]);
      }
    }
  }
}

// Without parameters a prefix is the same in training, so the plain trainer is the oracle; with augmentation too.
TEST(FrozenPrefix, GivesHeadsTheBitsOfPlainTrainingWhereNothingIsFrozen) {
  const graph::Graph model = *graph::parse(
      "%0 = input(shape=[1,8,8])\n"
      "%1 = relu(%0)\n"
      "%2 = max_pool2d(%1, kernel=[2], stride=[1])\n"
      "%3 = flatten(%2)\n"
      "%4 = linear(%3, out=16)\n"
      "%5 = relu(%4)\n"
      "%6 = dropout(%5, p=0.2)\n"
      "%7 = linear(%6, out=10)\n"
      "%8 = output(%7)\n");
  const FrozenPrefix prefix = *FrozenPrefix::create({.model = model, .frozen = {}, .weights = {}, .step_ops = &ops()});
  const data::Dataset kept = *prefix.features(digits(), StoredSamples::kAll, nullptr);
  const data::Dataset streamed = *prefix.features(digits(), StoredSamples::kValidation, nullptr);
  data::EpochCache epochs(streamed, kRoomy, nullptr);

  const Trainer plain = trained(input(model, digits(), 3), 2);
  for (const TrainerInput& in :
       {input(prefix.head(), kept, 3), input(prefix.head(), streamed, 3), input(prefix.head(), streamed, 3, &epochs)}) {
    const Trainer head = trained(in, 2);
    EXPECT_EQ(head.save().tensors, plain.save().tensors);
    EXPECT_EQ(head.save().facts, plain.save().facts);
  }

  const auto augmented = [](TrainerInput in) {
    in.recipe.augment = {{"crop", {{"pad", 1}}}, {"noise", {{"std", 0.1}}}};
    return trained(in, 2);
  };
  const Trainer noisy = augmented(input(model, digits(), 3));
  EXPECT_NE(noisy.save().tensors, plain.save().tensors);
  for (data::EpochCache* cache : {static_cast<data::EpochCache*>(nullptr), &epochs}) {
    const Trainer head = augmented(input(prefix.head(), streamed, 3, cache));
    EXPECT_EQ(head.save().tensors, noisy.save().tensors);
    EXPECT_EQ(head.save().facts, noisy.save().facts);
  }
}

TEST(FrozenPrefix, MakesTheWholeModelWithTheHeadsWeights) {
  const FrozenPrefix prefix = backbone();
  const data::Dataset features = *prefix.features(digits(), StoredSamples::kAll, nullptr);
  std::vector<Tensor> weights = trained(input(prefix.head(), features, 7), 1).save().tensors;
  program::Program head = program(prefix.head(), {"cross_entropy", "adam"});
  head.initialise(0, 0);
  put(head, weights);
  weights.insert(weights.end(), prefix.weights().begin(), prefix.weights().end());
  program::Program whole = program(*graph::parse(kBackbone + kHead), {"cross_entropy", "adam"});
  whole.initialise(0, 0);
  put(whole, weights);

  const auto logits = [](program::Program& of, const data::Dataset& data) {
    const auto rows = std::span(data.rows(data::Part::kTest)).first(kBatch);
    std::vector<float> samples(static_cast<std::size_t>(kBatch * data.spec().features.elements_per_sample()));
    data.gather_features(rows, samples);
    std::vector<float> out(kBatch * 10);
    of.predict(0, {.size = kBatch, .features = samples, .labels = {}, .targets = {}, .sample_index = {}}, out);
    return out;
  };
  EXPECT_EQ(logits(head, features), logits(whole, digits()));
}

TEST(FrozenPrefix, ComputesNoGradientBelowTheHead) {
  const auto count = [](const graph::Graph& model, std::string_view op) {
    return autodiff::derive_training_step(model, {}, ops())->graph.nodes_of(op).size();
  };
  const graph::Graph whole = *graph::parse(kBackbone + kHead), head = backbone().head();
  EXPECT_EQ(count(whole, "conv2d_grad_x"), 1U);
  EXPECT_EQ(count(head, "conv2d_grad_x"), 0U);
  EXPECT_EQ(count(head, "conv2d_grad_w"), 1U);
  EXPECT_EQ(count(head, "linear_grad_x"), 1U);
}

TEST(FrozenPrefix, GivesTheSameValuesToManyThreadsInBatchesOfAnySize) {
  const FrozenPrefix prefix = backbone();
  const data::Dataset streamed = *prefix.features(digits(), StoredSamples::kNothing, nullptr);
  const data::Dataset kept = *prefix.features(digits(), StoredSamples::kAll, nullptr);
  const auto rows = std::span(kept.rows(data::Part::kTrain)).first(200);
  const auto gathered = [rows](const data::Dataset& data, std::size_t at_once) {
    std::vector<float> out(rows.size() * 45);
    for (std::size_t at = 0; at < rows.size(); at += at_once) {
      data.gather_features(rows.subspan(at, at_once), std::span(out).subspan(at * 45, at_once * 45));
    }
    return out;
  };
  std::array<std::vector<float>, 3> seen;
  {
    std::vector<std::jthread> threads;
    for (const std::size_t i : {0U, 1U, 2U}) {
      threads.emplace_back([&, i] { seen[i] = gathered(streamed, std::array{1U, 50U, 200U}[i]); });
    }
  }
  for (const auto& values : seen) EXPECT_EQ(values, gathered(kept, 200));
}

TEST(FrozenPrefix, HasADigestOfNodesAndWeights) {
  FrozenModel model{
      .model = *graph::parse(kBackbone + kHead), .frozen = kFrozen, .weights = backbone_weights(), .step_ops = &ops()};
  const Digest digest = backbone().digest();
  EXPECT_EQ(FrozenPrefix::create(model)->digest(), digest);

  std::vector<Tensor> others = backbone_weights();
  elements_of<float>(*std::ranges::find(others, "n9.bias", &Tensor::name))[0] += 1;
  model.weights = others;
  EXPECT_EQ(FrozenPrefix::create(model)->digest(), digest);  // of the head
  elements_of<float>(*std::ranges::find(others, "n2.running_mean", &Tensor::name))[0] += 1;
  EXPECT_NE(FrozenPrefix::create(model)->digest(), digest);

  model.weights = backbone_weights();
  model.model = *graph::parse(kBackbone + "%5 = conv2d(%4, kernel=[1], out=2)\n%7 = flatten(%5)\n" +
                              "%9 = linear(%7, out=10)\n%11 = output(%9)\n");
  EXPECT_EQ(FrozenPrefix::create(model)->digest(), digest);  // under another head
}

TEST(FrozenPrefix, RejectsInconsistentFields) {
  FrozenModel model{
      .model = *graph::parse(kBackbone + kHead), .frozen = kFrozen, .weights = backbone_weights(), .step_ops = &ops()};
  const auto expect_refused = [](const auto& refused, Code code, const std::string& message) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, code);
    EXPECT_NE(refused.error().message.find(message), std::string::npos) << refused.error().message;
  };
  std::vector<Tensor> others = backbone_weights();
  std::erase_if(others, [](const Tensor& tensor) { return tensor.name == "n2.running_var"; });
  model.weights = others;
  expect_refused(FrozenPrefix::create(model), Code::kInvalidArgument, "lack 'n2.running_var'");
  others = backbone_weights();
  others[0].shape = {1};
  model.weights = others;
  expect_refused(FrozenPrefix::create(model), Code::kInvalidArgument, "'n1.weight' has shape [1]");
  model.weights = backbone_weights();
  MemoryBudget tiny(1000);
  model.budget = &tiny;
  expect_refused(FrozenPrefix::create(model), Code::kResourceExhausted, "bytes wanted");
  expect_refused(backbone().features(digits(), StoredSamples::kAll, &tiny), Code::kResourceExhausted,
                 "keeping 1797 samples of shape [5, 3, 3]");
  const data::Dataset features = *backbone().features(digits(), StoredSamples::kAll, nullptr);
  expect_refused(backbone().features(features, StoredSamples::kAll, nullptr), Code::kInvalidArgument,
                 "needs samples of shape [1, 8, 8], those of data 'digits' have [5, 3, 3]");
}

}  // namespace
}  // namespace lanista::train
