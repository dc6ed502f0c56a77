// The weights of a run's best epoch: those that were measured there, wherever the run was in between.
#include "lanista/exec/train/best_epoch_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "lanista/base/rng.h"
#include "lanista/exec/train/measure_weights.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

const data::Dataset& small_blobs() {
  static const data::Dataset set = [] {
    study::DataConfig config;
    config.source = "synthetic:blobs?rows=97&classes=3&features=4&seed=1";
    return *data::open(config, ".", real_file_system());
  }();
  return set;
}
const graph::OpTable& step_ops_of_all() {
  static const graph::OpTable table = autodiff::training_ops(graph::builtin_ops());
  return table;
}
study::SelectionRule by_loss() { return {{{false, "val_loss"}}, {}}; }

/// Learning rates so large that training goes up and down; five steps a pass.
TrainerInput noisy_trial(std::uint32_t id, bool is_double = false) {
  study::Recipe recipe = basic_recipe(id % 2 == 0 ? "adam" : "sgd", "constant", 6, 16, id % 2 == 0 ? 0.2 : 0.8);
  recipe.precision = is_double ? "float64" : "float32";
  recipe.momentum = 0.9;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  recipe.steps_per_epoch = id % 3 == 0 ? 3 : 0;
  return {.trial = TrialId{id},
          .model = *graph::parse("%0 = input(shape=[4])\n%1 = linear(%0, out=8)\n%2 = batch_norm(%1)\n%3 = relu(%2)\n"
                                 "%4 = dropout(%3, p=0.2)\n%5 = linear(%4, out=3)\n%6 = output(%5)\n"),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = id,
          .data_seed = 5,
          .data = &small_blobs(),
          .step_ops = &step_ops_of_all(),
          .keep = by_loss()};
}

std::size_t best_of(const std::vector<study::Measurement>& measurements) {
  const auto loss = [](const study::Measurement& m) { return m.metrics.at("val_loss"); };
  const auto best = std::ranges::min_element(measurements, {}, loss);
  return static_cast<std::size_t>(best - measurements.begin());
}

/// The weights that a trial has after so many steps, by a run that keeps nothing.
std::vector<Tensor> weights_after(TrainerInput input, std::int64_t steps) {
  input.keep = {};
  auto trainer = *Trainer::create(input);
  while (trainer.step_count() < steps) trainer.step();
  return weights_in(trainer.save().tensors);
}

void expect_measured(const TrainerInput& input, const TrainerState& state,
                     const std::vector<study::Measurement>& measurements) {
  const study::Measurement& best = measurements[best_of(measurements)];
  const auto seen = measure_weights(input, selected_weights(state), data::Part::kValidation, "val_");
  ASSERT_TRUE(seen) << seen.error().text();
  for (const auto& [name, value] : *seen) EXPECT_EQ(value, best.metrics.at(name)) << name;
}

TEST(BestEpochWeights, HoldsTheBestMeasuredWeights) {
  int earlier = 0;
  for (std::uint32_t id = 1; id <= 12; ++id) {
    SCOPED_TRACE(id);
    const TrainerInput input = noisy_trial(id, id % 4 == 0);
    auto trainer = *Trainer::create(input);
    while (trainer.epochs_done() < 6) {
      const bool measured = trainer.step();
      const TrainerState state = trainer.save();
      if (trainer.measurements().empty()) {
        ASSERT_TRUE(state.kept.empty());
        continue;
      }
      const study::Measurement& best = trainer.measurements()[best_of(trainer.measurements())];
      if (best.step == trainer.step_count()) {
        ASSERT_TRUE(state.kept.empty()) << "its own weights are";
      } else {
        ASSERT_TRUE(state.kept == weights_after(input, best.step));
      }
      if (measured) expect_measured(input, state, trainer.measurements());
    }
    earlier += best_of(trainer.measurements()) < 5 ? 1 : 0;
  }
  EXPECT_GT(earlier, 6) << "trials that were best before their end";
}

TEST(BestEpochWeights, HoldsNothingWhenTheLastEpochIsSelected) {
  TrainerInput input = noisy_trial(1);
  auto keeping = *Trainer::create(input);
  input.keep = {};
  auto plain = *Trainer::create(input);
  while (plain.epochs_done() < 6) {
    keeping.step();
    plain.step();
    ASSERT_TRUE(plain.save().kept.empty());
    ASSERT_TRUE(plain.save().tensors == keeping.save().tensors) << "and changes no step";
    ASSERT_EQ(plain.save().facts, keeping.save().facts);
  }
}

TEST(BestEpochWeights, SurvivesBeingStoredAtEveryStep) {
  for (std::uint32_t id = 1; id <= 4; ++id) {
    SCOPED_TRACE(id);
    auto whole = *Trainer::create(noisy_trial(id));
    while (whole.epochs_done() < 6) whole.step();
    TrainerState state = Trainer::create(noisy_trial(id))->save();
    for (std::int64_t step = 0; step < whole.step_count(); ++step) {
      auto trainer = *Trainer::create(noisy_trial(id));  // another process
      if (step > 0) {
        ASSERT_TRUE(trainer.restore(state));
      }
      trainer.step();
      state = trainer.save();
    }
    EXPECT_EQ(state.facts, whole.save().facts);
    EXPECT_TRUE(state.tensors == whole.save().tensors);
    EXPECT_TRUE(state.kept == whole.save().kept);
  }
}

TEST(BestEpochWeights, IsTheSameInAnyLaneAndAfterAnyRelease) {
  const auto family = [](std::uint32_t id) {
    TrainerInput input = noisy_trial(2 * id);  // adam: one key
    input.recipe.steps_per_epoch = id % 2 == 0 ? 3 : 0;
    return input;
  };
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    Rng rng(seed);
    std::vector<LaneGroup> groups;
    for (const std::int64_t lanes : {1, 3, 5}) groups.push_back(*LaneGroup::create(family(1), lanes));
    std::vector<TrialRun> runs;
    for (std::uint32_t id = 1; id <= 6; ++id) runs.push_back(*TrialRun::create(family(id)));
    for (int round = 0; round < 60; ++round) {
      LaneGroup& group = groups[rng.below(groups.size())];
      std::vector<TrialRun*> lanes;
      for (TrialRun& run : runs) {
        if (std::ssize(lanes) == group.lanes() || rng.bernoulli(0.4)) continue;
        if (run.state().is_in_memory() && rng.bernoulli(0.2)) {
          const TrainerState saved = run.save();
          run.release();
          ASSERT_TRUE(run.restore(saved));
          ASSERT_TRUE(run.save().kept == saved.kept) << "before a group has seen it";
        }
        ASSERT_TRUE(group.admit(run));
        lanes.push_back(&run);
      }
      std::vector<StepResult> ends(lanes.size());
      if (!lanes.empty()) group.advance(lanes, rng.between(1, 4), ends);
    }
    for (const TrialRun& run : runs) {
      auto alone = *Trainer::create(family(run.definition().input.trial.value / 2));
      while (alone.step_count() < run.progress().step_count()) alone.step();
      ASSERT_EQ(run.save().facts, alone.save().facts);
      ASSERT_TRUE(run.save().kept == alone.save().kept) << seed << ", trial " << run.definition().input.trial.value;
    }
  }
}

TEST(BestEpochWeights, ReservesItsMemoryFromTheBudget) {
  MemoryBudget budget;
  TrainerInput input = noisy_trial(1);
  input.budget = &budget;
  const auto group = *LaneGroup::create(input, 1);
  const std::int64_t program = budget.used();
  const auto held = [&](const study::SelectionRule& rule) {
    input.keep = rule;
    TrialRun run = *TrialRun::create(input);
    EXPECT_TRUE(group.admit(run));
    EXPECT_TRUE(group.admit(run)) << "once";
    const std::int64_t bytes = budget.used() - program;
    run.release();
    EXPECT_EQ(budget.used(), program);
    return bytes;
  };

  const std::int64_t more = held(by_loss()) - held({});

  std::int64_t weights = 0;
  for (const Tensor& tensor : weights_after(input, 1)) weights += static_cast<std::int64_t>(tensor.bytes.size());
  EXPECT_GE(more, weights);
  EXPECT_LE(more, weights + 2 * 4096) << "but for alignment";

  MemoryBudget tight(program + held({}) + more / 2);
  input.budget = &tight;
  input.keep = by_loss();
  const auto small = *LaneGroup::create(input, 1);
  TrialRun run = *TrialRun::create(input);
  EXPECT_EQ(small.admit(run).error().code, Code::kResourceExhausted);
}

TEST(BestEpochWeights, RefusesAStateWithoutBestWeights) {
  const TrainerInput input = noisy_trial(1);
  auto trainer = *Trainer::create(input);
  const auto& measurements = trainer.measurements();
  while (measurements.size() < 6 || best_of(measurements) + 1 == measurements.size()) trainer.step();
  const TrainerState good = trainer.save();
  const std::size_t epoch = best_of(trainer.measurements()) + 1;
  ASSERT_FALSE(good.kept.empty());

  TrainerState bad = good;
  bad.kept.clear();
  auto other = *Trainer::create(input);
  const auto refused = other.restore(bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kDataLoss);
  EXPECT_EQ(refused.error().message,
            "checkpoint lacks the weights of epoch " + std::to_string(epoch) + ", the best so far");

  bad = good;
  bad.kept.pop_back();
  EXPECT_EQ(other.restore(bad).error().code, Code::kDataLoss);
  bad = good;
  bad.kept.front().shape = {1};
  bad.kept.front().bytes.resize(4);
  EXPECT_EQ(other.restore(bad).error().code, Code::kDataLoss);
  bad = good;
  bad.kept.push_back(bad.kept.front());
  EXPECT_EQ(other.restore(bad).error().code, Code::kDataLoss);
  EXPECT_EQ(other.step_count(), 0) << "as before";

  TrialRun unseen = *TrialRun::create(input);  // it looks when a group does
  bad = good;
  bad.kept.pop_back();
  ASSERT_TRUE(unseen.restore(bad));
  const auto group = *LaneGroup::create(input, 1);
  EXPECT_EQ(group.admit(unseen).error().code, Code::kDataLoss);

  ASSERT_TRUE(other.restore(good));
  EXPECT_TRUE(other.save().kept == good.kept);
}

}  // namespace
}  // namespace lanista::train
