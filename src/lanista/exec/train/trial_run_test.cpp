// What a run does without its state, and what memory it holds.
#include "lanista/exec/train/trial_run.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include "lanista/base/check.h"
#include "lanista/exec/train/lane_group.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/base/sanitizer.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

class TrialRunTest : public ::testing::Test {
 protected:
  TrainerInput input() {
    study::Recipe recipe = basic_recipe("sgd", "constant", 2, 200, 0.1);
    recipe.momentum = 0.9;
    return {.trial = TrialId{7},
            .model = *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=4000)\n"
                                   "%3 = relu(%2)\n%4 = linear(%3, out=10)\n%5 = output(%4)\n"),
            .recipe = recipe,
            .metrics = {},
            .trial_seed = 3,
            .data_seed = 4,
            .data = &data,
            .step_ops = &ops,
            .budget = &budget};
  }
  void step() {
    TrialRun* const one = &run;
    StepResult end;
    group.step({&one, 1}, {&end, 1});
    ASSERT_EQ(end.failure, "");
  }
  static std::int64_t held() {
    const auto info = ::mallinfo2();
    return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
  }

  const data::Dataset data = *data::open({}, ".", real_file_system());
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  MemoryBudget budget;
  LaneGroup group = *LaneGroup::create(input(), 2);
  TrialRun run = *TrialRun::create(input());
};

TEST_F(TrialRunTest, NeverRestartsOnceItHasSteps) {
  ASSERT_TRUE(group.admit(run));
  step();
  const TrainerState saved = run.save();
  run.release();

  const auto admitted = group.admit(run);

  ASSERT_FALSE(admitted);
  EXPECT_EQ(admitted.error().code, Code::kInternal);
  EXPECT_EQ(admitted.error().message, "trial 7 has done 1 steps, but its state is not in memory");
  EXPECT_THROW(run.save(), InternalError);
  EXPECT_EQ(run.restore({{}, saved.facts}).error().code, Code::kDataLoss);
  ASSERT_FALSE(group.admit(run));

  ASSERT_TRUE(run.restore(saved));
  ASSERT_TRUE(group.admit(run));
  EXPECT_TRUE(run.save().tensors == saved.tensors);
}

TEST_F(TrialRunTest, StartsFreshWithoutSteps) {
  const TrainerState nothing = run.save();
  run.release();
  ASSERT_TRUE(run.restore(nothing));
  ASSERT_TRUE(group.admit(run));
  const TrainerState fresh = run.save();
  run.release();

  ASSERT_TRUE(group.admit(run));

  EXPECT_TRUE(run.save().tensors == fresh.tensors);
}

TEST_F(TrialRunTest, ReleasesItsMemory) {
  const std::int64_t program = budget.used();
  [[maybe_unused]] const std::int64_t before = held();
  ASSERT_TRUE(group.admit(run));
  step();
  const std::int64_t state = budget.used() - program;
  ASSERT_GT(state, 2'000'000);  // parameters and momentum

  run.release();

  EXPECT_EQ(budget.used(), program);
#if !LANISTA_SANITIZED
  EXPECT_LT(held() - before, state / 10);
#endif
}

}  // namespace
}  // namespace lanista::train
