// A trial that forks from another's state computes the bits that the other would have computed, over all test models of
// operators, optimisers, schedules and selections. Sampled cases by default; all of them with LANISTA_WHOLE_CROSS=1.
#include "lanista/exec/train/fork.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "lanista/base/rng.h"
#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/test_models.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

constexpr std::int64_t kRows = 24, kOthers = 4, kSteps = 200;

/// Rows that suit the model.
data::Dataset rows_for(const program::testing::Derived& derived) {
  const program::testing::OwnedBatch all = program::testing::random_batch(derived, kRows + 2 * kOthers, 7);
  const graph::Shape& prediction = derived.train.types.at(derived.train.prediction).shape;
  data::RawData raw;
  raw.features = all.features;
  raw.labels = all.labels;
  raw.targets = all.targets;
  raw.spec.name = "random";
  const graph::ValueType& input = derived.train.types.at(derived.train.input);
  for (const std::int64_t dim : input.shape.dims) {
    if (dim != graph::kBatch) raw.spec.features.dims.push_back(dim);
  }
  if (input.dtype == graph::DType::kIndex) raw.spec.vocab = 12;
  const autodiff::Loss& loss = *autodiff::find_loss(derived.train.options.loss);
  if (loss.of_classes()) {
    raw.spec.classes = prediction.dims.back();
    const std::int64_t positions = prediction.elements(1) / raw.spec.classes;
    if (positions > 1) raw.spec.positions = positions;
  } else {
    raw.spec.target_size = prediction.elements(1);
    raw.spec.multilabel = loss.kind == autodiff::TargetKind::kMultilabel;
  }
  data::Split split;
  for (std::int64_t row = 0; row < all.size; ++row)
    split[row < kRows ? 0 : row < kRows + kOthers ? 1 : 2].push_back(row);
  auto made = data::Dataset::make(std::move(raw), std::move(split), "none", "raw");
  LANISTA_CHECK(made.ok(), made ? "" : made.error().text());
  return *std::move(made);
}

const std::vector<std::string>& schedules() {
  static const std::vector<std::string> all{"constant", "step", "cosine"};
  return all;
}
const std::vector<study::PluginConfig>& selectors() {
  static const std::vector<study::PluginConfig> all{
      {},
      {"selective", {{"beta", 1}, {"warmup_epochs", 0}}},
      {"selective", {{"beta", 2}, {"stale", 2}, {"history", 400}, {"interrupt", 4}}},
      {"selective", {{"beta", 2}, {"clock", "trained"}}},
      {"selective", {{"beta", 3}, {"history", 64}}}};
  return all;
}

struct Case {
  std::size_t model, optimizer, schedule, selector;
};

TrainerInput trial_of(const Case& c, const program::testing::Derived& derived, const data::Dataset& data) {
  // Three steps an epoch, the last one short.
  study::Recipe recipe = basic_recipe(autodiff::optimizers()[c.optimizer].name, schedules()[c.schedule], 70, 10, 0.003);
  recipe.loss = derived.train.options.loss;
  recipe.step_every = 5;
  recipe.step_factor = 0.7;
  recipe.momentum = 0.9;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  recipe.select = selectors()[c.selector];
  return {.trial = TrialId{3},
          .model = derived.model,
          .recipe = recipe,
          .metrics = {},
          .trial_seed = 11,
          .data_seed = 5,
          .data = &data,
          .step_ops = &ops()};
}

bool step(LaneGroup& group, TrialRun& run) {
  EXPECT_TRUE(group.admit(run));
  std::array<StepResult, 1> ends;
  std::array<TrialRun*, 1> runs{&run};
  group.step(runs, ends);
  EXPECT_EQ(ends[0].failure, "");
  return ends[0].failure.empty();
}

/// Compares a fork at the end of an epoch, and a branch within one. False: one of them failed.
void expect_equal_runs(const TrainerInput& input, std::uint64_t salt) {
  LaneGroup group = *LaneGroup::create(input, 1);
  TrialRun parent = *TrialRun::create(input);
  Rng rng(salt);
  const std::int64_t epochs = rng.between(1, 3);
  while (parent.progress().epochs_done() < epochs) ASSERT_TRUE(step(group, parent));
  TrainerInput own = input;
  own.trial = TrialId{9};
  std::vector<study::Measurement> before;  // measurements of the other trial
  for (const study::Measurement& each : parent.progress().measurements()) {
    before.push_back({own.trial, each.epoch, each.step, {{"val_loss", rng.uniform()}}});
  }
  TrialRun child = *TrialRun::create(own);
  const auto taken = child.restore(forked_state(parent.save(), own.trial_seed, before));
  ASSERT_TRUE(taken) << taken.error().text();
  EXPECT_EQ(child.progress().step_count(), parent.progress().step_count());
  EXPECT_EQ(child.save().facts.at("measurements"), [&] {
    auto measured = nlohmann::json::array();
    for (const auto& each : before) measured.push_back(study::measurement_json(each));
    return measured.dump();
  }());
  std::optional<TrialRun> branch;
  const std::int64_t branches_at = rng.between(1, 5), rests_at = rng.between(6, 40);
  for (std::int64_t i = 0; i < kSteps; ++i) {
    if (i == branches_at) {
      auto made = BranchPoint(parent).fork({});
      ASSERT_TRUE(made) << made.error().text();
      branch.emplace(*std::move(made));
    }
    if (i == rests_at) {  // it pauses, and resumes from its own state
      TrialRun back = *TrialRun::create(own);
      auto saved = own_or_forked_state(child.save(), input.trial, own.trial_seed + 1, {});
      ASSERT_TRUE(saved && back.restore(*std::move(saved)));
      child = std::move(back);
    }
    ASSERT_TRUE(step(group, parent) && step(group, child));
    if (branch) {
      ASSERT_TRUE(step(group, *branch));
    }
  }
  EXPECT_TRUE(child.save().tensors == parent.save().tensors);
  EXPECT_TRUE(branch->save().tensors == parent.save().tensors);
  ASSERT_EQ(child.progress().epochs_done(), parent.progress().epochs_done());
  for (std::size_t e = 0; e < child.progress().measurements().size(); ++e) {
    const study::Measurement &mine = child.progress().measurements()[e], &others = parent.progress().measurements()[e];
    EXPECT_EQ(mine.trial, own.trial);
    EXPECT_EQ(mine.step, others.step) << "the step counter continues";
    if (e < before.size()) {
      EXPECT_EQ(mine.metrics, before[e].metrics);
    } else {
      // NaN is equal to itself here.
      study::Measurement same = others;
      same.trial = own.trial;
      EXPECT_EQ(study::measurement_json(mine).dump(), study::measurement_json(same).dump());
    }
  }
}

TEST(Fork, MatchesSourceForTwoHundredStepsWithSameSettings) {
  const auto models = program::testing::operator_models();
  const bool whole = std::getenv("LANISTA_WHOLE_CROSS") != nullptr;
  std::size_t cases = 0;
  Rng rng(16);
  for (std::size_t m = 0; m < models.size(); ++m) {
    const program::testing::Derived derived = program::testing::derive(models[m]);
    const data::Dataset data = rows_for(derived);
    std::vector<Case> chosen;
    for (std::size_t o = 0; o < autodiff::optimizers().size(); ++o) {
      for (std::size_t s = 0; s < schedules().size(); ++s) {
        for (std::size_t k = 0; k < selectors().size(); ++k) chosen.push_back({m, o, s, k});
      }
    }
    if (!whole) {
      if (rng.below(3) != 0) continue;
      chosen = {chosen[rng.below(chosen.size())]};
    }
    for (const Case& c : chosen) {
      SCOPED_TRACE(models[m].name + " " + autodiff::optimizers()[c.optimizer].name + " " + schedules()[c.schedule] +
                   " selector " + std::to_string(c.selector));
      expect_equal_runs(trial_of(c, derived, data), ++cases);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GE(cases, 20U);
  RecordProperty("cases", static_cast<int>(cases));
}

TEST(Fork, HasItsOwnDropoutMasksAndRate) {
  program::testing::TestModel model = program::testing::model_named("mlp");
  model.text =
      "%0 = input(shape=[6])\n%1 = linear(%0, out=8)\n%2 = dropout(%1, p=0.5)\n%3 = linear(%2, out=5)\n%4 = "
      "output(%3)\n";
  const program::testing::Derived derived = program::testing::derive(model);
  const data::Dataset data = rows_for(derived);
  const TrainerInput input = trial_of({0, 0, 0, 0}, derived, data);
  LaneGroup group = *LaneGroup::create(input, 1);
  TrialRun parent = *TrialRun::create(input);
  while (parent.progress().epochs_done() < 1) ASSERT_TRUE(step(group, parent));
  const TrainerState state = parent.save();
  ASSERT_TRUE(step(group, parent));
  for (const bool seed : {false, true}) {
    for (const bool rate : {false, true}) {
      TrainerInput own = input;
      own.trial = TrialId{9};
      own.trial_seed += seed ? 1 : 0;
      own.recipe.lr *= rate ? 2 : 1;
      auto before = *read_measurements(state.facts);
      before.front().trial = own.trial;
      TrialRun child = *TrialRun::create(own);
      ASSERT_TRUE(child.restore(*own_or_forked_state(state, input.trial, own.trial_seed, before)));
      ASSERT_TRUE(step(group, child));
      const auto mine = child.save().tensors, others = parent.save().tensors;
      EXPECT_EQ(mine.front() == others.front(), !seed && !rate);
    }
  }
  // Neither the number of measurements nor the program may be another.
  TrainerInput wide = input;
  wide.trial = TrialId{9};
  TrialRun child = *TrialRun::create(wide);
  EXPECT_FALSE(child.restore(forked_state(state, 1, {})));
}

}  // namespace
}  // namespace lanista::train
