// A trial that begins with another trial's weights, and with nothing else of it.
#include "lanista/exec/train/start_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/exec/train/batch_buffers.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

const Tensor* find(const std::vector<Tensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

class StartTest : public ::testing::Test {
 protected:
  TrainerInput input(std::uint32_t id, const std::string& optimizer = "adam", int width = 8) {
    study::Recipe recipe = basic_recipe(optimizer, "cosine", 2, 300, 0.01);
    recipe.beta1 = 0.9;
    recipe.beta2 = 0.99;
    recipe.eps = 1e-8;
    return {.trial = TrialId{id},
            .model = *graph::parse(
                "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=" + std::to_string(width) +
                ")\n%3 = batch_norm(%2)\n%4 = relu(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n"),
            .recipe = recipe,
            .metrics = {},
            .trial_seed = id,
            .data_seed = 4,
            .data = &data,
            .step_ops = &ops};
  }
  TrainerState trained(std::uint32_t id, int steps) {
    Trainer trainer = *Trainer::create(input(id));
    for (int i = 0; i < steps; ++i) trainer.step();
    return trainer.save();
  }

  const data::Dataset data = *data::open({}, ".", real_file_system());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
};

TEST_F(StartTest, CopiesOnlyTheWeights) {
  const TrainerState parent = trained(1, 7);
  for (const std::string optimizer : {"adam", "sgd"}) {
    TrainerInput child = input(2, optimizer);
    const TrainerState fresh = Trainer::create(child)->save();
    child.start = *clone_weights(parent, "");

    const TrainerState begun = Trainer::create(child)->save();

    ASSERT_EQ(begun.tensors.size(), fresh.tensors.size());
    EXPECT_EQ(begun.facts, fresh.facts);
    std::set<std::string> taken;
    for (const Tensor& tensor : begun.tensors) {
      const Tensor* own = find(fresh.tensors, tensor.name);
      ASSERT_NE(own, nullptr);
      if (tensor == *own) continue;
      taken.insert(tensor.name);
      EXPECT_EQ(tensor, *find(parent.tensors, tensor.name)) << tensor.name;
    }
    EXPECT_EQ(taken, (std::set<std::string>{"n2.weight", "n2.bias", "n3.weight", "n3.bias", "n3.running_mean",
                                            "n3.running_var", "n5.weight", "n5.bias"}));
  }
}

// The parent's slots and steps too, where they are asked for: the child computes what the parent would, had it begun
// its first epoch again.
TEST_F(StartTest, ContinuesWithTheParentsOptimizerIfConfigured) {
  for (const std::string optimizer : {"adam", "sgd", "rmsprop"}) {
    SCOPED_TRACE(optimizer);
    const auto constant = [&](std::uint32_t id) {
      TrainerInput made = input(id, optimizer);
      made.recipe.schedule = "constant";
      made.recipe.momentum = 0.9;
      return made;
    };
    Trainer parent = *Trainer::create(constant(1));
    for (int i = 0; i < 7; ++i) parent.step();
    const TrainerState state = parent.save();
    TrainerInput child = constant(2);
    const auto pairs = zoo::lineage_mapping(child.model, child.model);
    const auto plan = *zoo::plan_transfer(child.model, child.model, pairs, ops);
    ASSERT_TRUE(plan.exact);
    const auto ended = [&](TrainerInput from) {
      Trainer trainer = *Trainer::create(from);
      for (int i = 0; i < 8; ++i) trainer.step();  // into the second epoch
      return trainer.save();
    };

    child.start = *transfer_weights(state, plan, child.model, ops, 2, true);
    const TrainerState begun = Trainer::create(child)->save(), carried = ended(child);
    child.start = *transfer_weights(state, plan, child.model, ops, 2);
    const TrainerState fresh = ended(child);

    for (const Tensor& tensor : begun.tensors) {
      EXPECT_TRUE(tensor.name == "seed" || tensor == *find(state.tensors, tensor.name)) << tensor.name;
    }
    EXPECT_EQ(begun.facts.at("step"), "0");
    // The whole state of the parent, put into a run of the child's name that has done nothing.
    child.start = nullptr;
    TrainerState whole{state.tensors, begun.facts};
    for (Tensor& tensor : whole.tensors) {
      if (tensor.name == "seed") elements_of<std::int64_t>(tensor)[0] = 2;
    }
    Trainer again = *Trainer::create(child);
    ASSERT_TRUE(again.restore(whole));
    for (int i = 0; i < 8; ++i) again.step();
    EXPECT_TRUE(again.save().tensors == carried.tensors);
    EXPECT_EQ(again.save().facts, carried.facts);
    EXPECT_FALSE(fresh.tensors == carried.tensors);
  }
}

// Slots go where the elements of their parameters go.
TEST_F(StartTest, MovesSlotsWithTheirElements) {
  const TrainerState state = trained(1, 5);
  TrainerInput child = input(2);
  auto plan = *zoo::plan_transfer(child.model, child.model, zoo::lineage_mapping(child.model, child.model), ops);
  const std::vector<std::int64_t> order{3, 0, 7, 1, 6, 2, 5, 4};
  for (zoo::TensorPlan& one : plan.tensors) {
    one.kind = zoo::TensorPlan::Kind::kMap;
    one.axes.resize(one.shape.size());
    if (one.name == "n5.bias") continue;
    one.axes[one.name == "n5.weight" ? 1 : 0].from = order;
  }
  ASSERT_EQ(zoo::first_not_one_to_one(plan), "");
  const auto start = *transfer_weights(state, plan, child.model, ops, 2, true);
  EXPECT_EQ(start->steps, 5);
  int seen = 0;
  for (const std::string slot : {"", "/m", "/v"}) {
    const auto of = [&](const std::vector<Tensor>& tensors, const std::string& name) {
      return elements_of<float>(*find(tensors, name + slot));
    };
    const auto was = of(state.tensors, "n2.weight"), is = of(start->tensors, "n2.weight");
    const auto before = of(state.tensors, "n5.weight"), after = of(start->tensors, "n5.weight");
    for (std::size_t t = 0; t < 8; ++t) {
      const auto u = static_cast<std::size_t>(order[t]);
      for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(is[t * 64 + i], was[u * 64 + i]);
      for (std::size_t c = 0; c < 10; ++c) EXPECT_EQ(after[c * 8 + t], before[c * 8 + u]);
      seen += was[u * 64 + 20] != 0;
    }
  }
  EXPECT_GT(seen, 8) << "there is something to move";

  const auto refused = [&](const TrainerState& from) {
    return transfer_weights(from, plan, child.model, ops, 2, true);
  };
  TrainerState bare = state;
  std::erase_if(bare.tensors, [](const Tensor& tensor) { return tensor.name.find('/') != std::string::npos; });
  EXPECT_EQ(refused(bare).error().code, Code::kDataLoss);
  std::erase_if(bare.tensors, [](const Tensor& tensor) { return tensor.name == "step"; });
  EXPECT_EQ(refused(bare).error().code, Code::kDataLoss);
  plan.tensors.front().axes[0].from[0] = 0;  // twice
  EXPECT_EQ(zoo::first_not_one_to_one(plan), "n2.weight");
  EXPECT_EQ(refused(state).error().code, Code::kInvalidArgument);
}

// Whatever the parent had done, measured or was called: the child computes the same.
TEST_F(StartTest, CopiesNoFactsOfTheParent) {
  TrainerState parent = trained(1, 7), nameless = parent;
  nameless.facts = {{"step", "99"}, {"measurements", "broken"}};
  std::erase_if(nameless.tensors, [](const Tensor& t) {
    return t.name == "step" || t.name == "seed" || t.name.find('/') != std::string::npos;
  });
  const auto end_of = [&](const TrainerState& from) {
    TrainerInput child = input(2);
    child.start = *clone_weights(from, "");
    Trainer trainer = *Trainer::create(child);
    while (trainer.epochs_done() < 2) trainer.step();
    return trainer.save();
  };

  const TrainerState a = end_of(parent), b = end_of(nameless);

  EXPECT_TRUE(a.tensors == b.tensors);
  EXPECT_EQ(a.facts, b.facts);
  const auto measured = *read_measurements(a.facts);
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_EQ(measured[0].epoch, 1);
  EXPECT_EQ(measured[0].step, 5);
  for (const auto& each : measured) EXPECT_EQ(each.trial, TrialId{2});
}

TEST_F(StartTest, AppliesOnlyBeforeTheFirstStep) {
  TrainerInput child = input(2);
  child.start = *clone_weights(trained(1, 3), "");
  LaneGroup group = *LaneGroup::create(child, 1);
  TrialRun run = *TrialRun::create(child);
  ASSERT_TRUE(group.admit(run));
  const TrainerState begun = run.save();
  run.release();
  ASSERT_TRUE(group.admit(run));
  EXPECT_TRUE(run.save().tensors == begun.tensors);

  TrialRun* const one = &run;
  StepResult end;
  group.step({&one, 1}, {&end, 1});
  ASSERT_EQ(end.failure, "");
  const TrainerState stepped = run.save();
  run.release();
  EXPECT_EQ(group.admit(run).error().code, Code::kInternal);
  TrialRun back = *TrialRun::create(child);  // a trial with a checkpoint of its own needs no start
  ASSERT_TRUE(back.restore(stepped));
  ASSERT_TRUE(group.admit(back));
  EXPECT_TRUE(back.save().tensors == stepped.tensors);
}

TEST_F(StartTest, ReportsWhatDoesNotFit) {
  const TrainerState parent = trained(1, 1);
  EXPECT_EQ(clone_weights(parent, "widen").error().code, Code::kInvalidArgument);
  EXPECT_EQ(clone_weights({{}, parent.facts}, "").error().code, Code::kDataLoss);
  TrainerInput wide = input(2, "adam", 9);
  wide.start = *clone_weights(parent, "");
  EXPECT_EQ(Trainer::create(wide).error().message,
            "the start does not fit: state of a lane: tensor 'n2.weight' has shape [8, 64], but [9, 64] is "
            "wanted");
  TrainerState lacking = parent;
  std::erase_if(lacking.tensors, [](const Tensor& tensor) { return tensor.name == "n5.bias"; });
  TrainerInput child = input(2);
  child.start = *clone_weights(lacking, "");
  EXPECT_EQ(Trainer::create(child).error().message, "the start has no tensor 'n5.bias'");
  child.start = std::make_shared<const StartWeights>(StartWeights{child.start->tensors, false});
  EXPECT_TRUE(Trainer::create(child));
}

// To resume from another trial's checkpoint would report its measurements under another name.
TEST_F(StartTest, DiffersFromRestore) {
  const TrainerState parent = trained(1, 7);
  Trainer other = *Trainer::create(input(2));
  const TrainerState before = other.save();

  const auto restored = other.restore(parent);

  ASSERT_FALSE(restored);
  EXPECT_EQ(restored.error().code, Code::kDataLoss);
  EXPECT_EQ(restored.error().message, "checkpoint is of trial 1, not of trial 2");
  EXPECT_TRUE(other.save().tensors == before.tensors);
}

/// Mean and variance of each feature over some rows, in double, the variance divided by rows or rows - 1.
std::pair<std::vector<double>, std::vector<double>> moments(const data::Dataset& data,
                                                            std::span<const std::int64_t> rows) {
  constexpr std::size_t kFeatures = 64;
  BatchBuffers buffers(static_cast<std::int64_t>(rows.size()), data.spec());
  const program::Batch batch = buffers.fill(data, rows);
  std::vector<double> mean(kFeatures), variance(kFeatures);
  const auto n = static_cast<double>(rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t f = 0; f < kFeatures; ++f) mean[f] += batch.features[r * kFeatures + f] / n;
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t f = 0; f < kFeatures; ++f) {
      const double off = batch.features[r * kFeatures + f] - mean[f];
      variance[f] += off * off / (n - 1);
    }
  }
  return {mean, variance};
}

// Statistics of the inputs alone, which depend on nothing trained: in closed form.
TEST_F(StartTest, RecalibratesOnlyBeforeTheFirstMeasurement) {
  constexpr std::size_t kBatches = 3;
  TrainerInput child = input(2);
  child.recipe.epochs = 3;
  child.model = *graph::parse(
      "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = batch_norm(%1)\n%3 = linear(%2, out=10)\n"
      "%4 = output(%3)\n");
  TrainerInput renewed = child;
  renewed.recipe.recalibrate = kBatches;
  Trainer plain = *Trainer::create(child), with = *Trainer::create(renewed);
  const auto statistic = [](const Trainer& trainer, const std::string& name) {
    const TrainerState state = trainer.save();
    const auto values = elements_of<float>(*find(state.tensors, name));
    return std::vector<double>(values.begin(), values.end());
  };
  for (std::int64_t step = 1; step < with.steps_per_epoch(); ++step) {
    plain.step();
    with.step();
  }
  EXPECT_EQ(plain.save().tensors, with.save().tensors) << "nothing is renewed within an epoch";
  plain.step();
  with.step();
  const std::vector<double> was = statistic(plain, "n2.running_mean");
  std::vector<double> mean = was, variance = statistic(plain, "n2.running_var");
  const auto order = data::epoch_order(data.rows(data::Part::kTrain), child.data_seed, 0);
  for (std::size_t i = 0; i < kBatches; ++i) {
    const auto [m, v] = moments(data, std::span(order).subspan(i * 300, 300));
    for (std::size_t f = 0; f < 64; ++f) {
      mean[f] = 0.9 * mean[f] + 0.1 * m[f];
      variance[f] = 0.9 * variance[f] + 0.1 * v[f];
    }
  }
  const auto given_mean = statistic(with, "n2.running_mean"), given_variance = statistic(with, "n2.running_var");
  for (std::size_t f = 0; f < 64; ++f) {
    EXPECT_NEAR(given_mean[f], mean[f], 1e-5) << f;
    EXPECT_NEAR(given_variance[f], variance[f], 1e-5 * (1 + variance[f])) << f;
  }
  EXPECT_NE(plain.measurements()[0].metrics.at("val_loss"), with.measurements()[0].metrics.at("val_loss"));
  TrainerInput later = renewed;
  Trainer resumed = *Trainer::create(later);
  ASSERT_TRUE(resumed.restore(with.save()).ok());
  const auto at_the_end = [&](Trainer& trainer) {
    while (trainer.epochs_done() < 3) trainer.step();
    return trainer.save();
  };
  const TrainerState end = at_the_end(with), other = at_the_end(plain);
  EXPECT_EQ(at_the_end(resumed).tensors, end.tensors);
  for (const Tensor& tensor : end.tensors) {
    if (tensor.name.find("running") != std::string::npos) continue;
    EXPECT_EQ(tensor, *find(other.tensors, tensor.name));
  }
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(with.measurements()[static_cast<std::size_t>(epoch)].metrics.at("train_loss"),
              plain.measurements()[static_cast<std::size_t>(epoch)].metrics.at("train_loss"));
  }
  // From there on both forget alike, and nothing else comes: what was between them fades.
  const auto faded = statistic(with, "n2.running_mean"), kept = statistic(plain, "n2.running_mean");
  const double fade = std::pow(0.9, 2.0 * static_cast<double>(with.steps_per_epoch()));
  const std::vector<double> before = statistic(resumed, "n2.running_mean");
  for (std::size_t f = 0; f < 64; ++f) EXPECT_NEAR(faded[f] - kept[f], fade * (given_mean[f] - was[f]), 1e-5) << f;
  EXPECT_EQ(before, faded);
}

}  // namespace
}  // namespace lanista::train
