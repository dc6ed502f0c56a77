#include "lanista/engine/local/plan_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"
#include "support/exec/program/test_models.h"

namespace lanista::runtime {
namespace {

using namespace program::testing;

TEST(PlanTiming, RunsEveryLineOfEveryModelOnASyntheticBatch) {
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    program::Program program = compile(derived, {.max_batch = 4});
    program.initialise(0, 1);

    const PlanTimes times = time_plan(program, SyntheticBatch(derived.train, 4).view(), 0);

    EXPECT_EQ(times.line_us.size(), program.plan().size()) << model.name;
    EXPECT_EQ(times.samples, 3);
    EXPECT_EQ(program.step_count(0), 2 * (times.samples + 1)) << model.name;
  }
}

/// The identity. It advances a fake clock by one minute forward and by three backward.
struct Slow {
  std::shared_ptr<double> now;
  template <class T>
  void forward(const program::OpaqueCall<T>& call) const {
    *now += 60e6;
    std::ranges::copy(call.inputs[0], call.results[0].begin());
  }
  template <class T>
  void backward(const program::OpaqueCall<T>& call) const {
    *now += 180e6;
    std::ranges::copy(call.dy, call.results[0].begin());
  }
};

TEST(PlanTiming, GivesEveryLineItsOwnTime) {
  const auto clock = std::make_shared<double>(0);
  program::Operators operators;
  graph::OpDef slow;
  slow.name = "slow";
  slow.help = "The identity.";
  slow.infer = graph::ops::infer_same;
  ASSERT_TRUE(operators.add(slow, Slow{clock}));
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  const auto model = graph::parse(
      "%0 = input(shape=[4])\n%1 = linear(%0, out=3)\n%2 = slow(%1)\n%3 = linear(%2, out=2)\n%4 = output(%3)\n");
  const auto train = autodiff::derive_training_step(*model, {}, ops);
  const auto infer = autodiff::derive_inference_step(*model, ops);
  auto program = program::Program::compile(*train, *infer, {.max_batch = 4, .operators = &operators});
  ASSERT_TRUE(program);
  ASSERT_TRUE(program->begin(0, 1));
  constexpr double kReading = 3;  // of the stopwatch itself
  const auto read = [clock] { return *clock += kReading; };

  // A round takes 60 + 180 + 60 seconds line by line, and a step of 240.
  const PlanTimes times = time_plan(*program, SyntheticBatch(*train, 4).view(), 10 * 540.0 + 1, read);

  EXPECT_EQ(times.samples, 10);
  EXPECT_DOUBLE_EQ(times.step_us, 240e6 + kReading);
  const auto plan = program->plan();
  ASSERT_EQ(times.line_us.size(), plan.size());
  int slow_lines = 0;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const bool forward = plan[i].kernel == "slow", backward = plan[i].kernel == "slow_grad";
    slow_lines += forward || backward;
    EXPECT_DOUBLE_EQ(times.line_us[i], forward ? 60e6 : backward ? 180e6 : 0) << plan[i].kernel;
  }
  EXPECT_EQ(slow_lines, 3);
}

TEST(PlanTiming, LeavesTheParametersAlone) {
  const Derived derived = derive(small_mlp());
  program::Program program = compile(derived, {.lanes = 2, .max_batch = 4});
  program.initialise(0, 1);
  program.initialise(1, 2);
  const auto before = program.extract(0), other = program.extract(1);

  time_plan(program, SyntheticBatch(derived.train, 4).view(), 0);

  EXPECT_EQ(tensor_named(program.extract(0), "n1.weight").bytes, tensor_named(before, "n1.weight").bytes);
  EXPECT_EQ(program.extract(1), other);
}

}  // namespace
}  // namespace lanista::runtime
