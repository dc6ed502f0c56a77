// Parts of a trial's model that train at factors of its rate.
#include <gtest/gtest.h>

#include "lanista/exec/train/branch_point.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"
#include "support/exec/train/train_to_end.h"

namespace lanista::train {
namespace {

constexpr graph::NodeId kFirst{2}, kNorm{3}, kHead{5};

TrainerInput input(std::uint32_t id, std::map<graph::NodeId, double> rates, double lr = 0.01) {
  study::Recipe recipe = basic_recipe("adamw", "cosine", 2, 300, lr);
  recipe.weight_decay = 0.1;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  recipe.rates = std::move(rates);
  return {.trial = TrialId{id},
          .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=8)\n"
                                 "%3 = batch_norm(%2)\n%4 = relu(%3)\n%5 = linear(%4, out=10)\n%6 = output(%5)\n"),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = 3,
          .data_seed = 4,
          .data = &digits(),
          .step_ops = &ops()};
}

TrainerState alone(const TrainerInput& of) {
  return testing::train_to_end(of, 1, [](LaneGroup&, TrialRun&) {}).state;
}

TEST(LrFactors, OfHalfAreHalfTheRate) {
  const TrainerState plain = alone(input(1, {}, 0.01));
  EXPECT_TRUE(alone(input(1, {{kFirst, 0.5}, {kNorm, 0.5}, {kHead, 0.5}}, 0.02)).tensors == plain.tensors);
  EXPECT_TRUE(alone(input(1, {{kFirst, 1}, {kNorm, 1}, {kHead, 1}})).tensors == plain.tensors);
  EXPECT_FALSE(alone(input(1, {{kFirst, 0.5}})).tensors == plain.tensors);
}

// The first gradient does not depend on the rates, so one step shows which parameters have which rate.
TEST(LrFactors, OfOnePartChangeNoOtherPart) {
  const auto stepped = [](const std::map<graph::NodeId, double>& rates) {
    Trainer trainer = *Trainer::create(input(1, rates));
    trainer.step();
    return trainer.save().tensors;
  };
  const std::vector<Tensor> plain = stepped({});
  for (const graph::NodeId part : {kFirst, kNorm, kHead}) {
    const std::vector<Tensor> rated = stepped({{part, 0.01}});
    for (std::size_t i = 0; i < plain.size(); ++i) {
      const bool is_slot = plain[i].name.find('/') != std::string::npos;
      const bool is_of_part = plain[i].name.starts_with("n" + std::to_string(part.value) + ".");
      const bool is_buffer = plain[i].name.find("running") != std::string::npos;
      EXPECT_EQ(rated[i] == plain[i], is_slot || is_buffer || !is_of_part) << plain[i].name;
    }
  }
}

TEST(LrFactors, ArePerLane) {
  const std::vector<TrainerInput> all{input(1, {{kFirst, 0.1}, {kNorm, 0.1}}), input(2, {}),
                                      input(3, {{kFirst, 0.01}, {kHead, 2}})};
  LaneGroup group = *LaneGroup::create(all.front(), 3);
  std::vector<TrialRun> runs;
  for (const TrainerInput& one : all) {
    runs.push_back(*TrialRun::create(one));
    ASSERT_EQ(runs.back().definition().key, runs.front().definition().key);
  }
  std::vector<TrialRun*> lanes;
  for (TrialRun& run : runs) {
    ASSERT_TRUE(group.admit(run));
    lanes.push_back(&run);
  }
  std::vector<StepResult> ends(3);
  while (runs.front().progress().epochs_done() < 2) group.step(lanes, ends);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_TRUE(runs[i].save().tensors == alone(all[i]).tensors) << i;
}

TEST(LrFactors, SurviveResumeAfterEveryStep) {
  const TrainerInput of = input(1, {{kFirst, 0.1}, {kNorm, 0.3}});
  const auto cut = testing::train_to_end(
      of, 1, [](LaneGroup&, TrialRun&) {}, [](std::int64_t) { return true; });
  EXPECT_TRUE(cut.state.tensors == alone(of).tensors);
}

// A branch with unchanged settings is what its trial would have become.
TEST(LrFactors, OfABranchAreThoseOfItsTrial) {
  for (const auto& rates : {std::map<graph::NodeId, double>{}, {{kFirst, 0.1}, {kHead, 2.0}}}) {
    const TrainerInput of = input(1, rates);
    LaneGroup group = *LaneGroup::create(of, 2);
    TrialRun run = *TrialRun::create(of);
    ASSERT_TRUE(group.admit(run));
    const auto steps = [&](TrialRun& one) {
      TrialRun* const lane = &one;
      for (int i = 0; i < 3; ++i) {
        StepResult end;
        group.step({&lane, 1}, {&end, 1});
        ASSERT_EQ(end.failure, "");
      }
    };
    steps(run);
    TrialRun branch = *BranchPoint(run).fork({});
    steps(branch);
    steps(run);
    EXPECT_EQ(branch.save().tensors, run.save().tensors);
  }
}

}  // namespace
}  // namespace lanista::train
