#include "lanista/runtime/plan_timing.h"

#include <gtest/gtest.h>

#include "lanista/nn/test_models.h"

namespace lanista::runtime {
namespace {

using namespace nn::testing;

TEST(PlanTiming, TimesEveryLineOfEveryModelOnAMadeUpBatch) {
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    nn::Program program = compile(derived, {.max_batch = 4});
    program.initialise(0, 1);

    const PlanTimes times = time_plan(program, MadeUpBatch(derived.train, 4).view(), 0);

    EXPECT_EQ(times.line_us.size(), program.plan().size()) << model.name;
    for (const double us : times.line_us) EXPECT_GE(us, 0);
    EXPECT_GT(times.step_us, 0);
    EXPECT_EQ(times.samples, 3);
  }
}

TEST(PlanTiming, LeavesTheParametersAlone) {
  const Derived derived = derive(small_mlp());
  nn::Program program = compile(derived, {.lanes = 2, .max_batch = 4});
  program.initialise(0, 1);
  program.initialise(1, 2);
  const auto before = program.extract(0), other = program.extract(1);

  time_plan(program, MadeUpBatch(derived.train, 4).view(), 0);

  EXPECT_EQ(tensor_named(program.extract(0), "n1.weight").bytes, tensor_named(before, "n1.weight").bytes);
  EXPECT_EQ(program.extract(1), other);
}

}  // namespace
}  // namespace lanista::runtime
