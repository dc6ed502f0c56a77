#include "lanista/engine/local/pass_timing.h"

#include <gtest/gtest.h>

#include "lanista/engine/local/plan_timing.h"
#include "support/exec/program/test_models.h"

namespace lanista::runtime {
namespace {

constexpr std::int64_t kBatch = 64, kMicro = 8;
constexpr const char* kModel =
    "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=512)\n%3 = relu(%2)\n%4 = linear(%3, out=10)\n"
    "%5 = output(%4)\n";

TEST(TimePasses, MeasuresThePassesOfEachOperator) {
  const auto model = program::testing::derive({"model", kModel}, "adam");
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto planned = planned_step(model.train, ops, kBatch, 4);
  ASSERT_TRUE(planned.ok());
  int compiled = 0;
  const auto compile = [&](const program::Stages& stages) -> Result<program::Program> {
    ++compiled;
    EXPECT_EQ(stages.stages.size(), planned->nodes.size());
    EXPECT_EQ(stages.ranks.size(), 1U);
    program::ProgramOptions options{.max_batch = kBatch, .accumulate = kBatch / kMicro, .stages = &stages};
    LANISTA_ASSIGN(program::Program program, program::Program::compile(model.train, model.infer, options));
    LANISTA_TRY(program.begin(0, 7));
    return program;
  };
  const SyntheticBatch batch(model.train, kBatch);
  const auto times = time_passes(*planned, kMicro, compile, batch.view(), 5);
  ASSERT_TRUE(times.ok()) << times.error().text();
  EXPECT_EQ(compiled, 2);
  ASSERT_EQ(times->size(), planned->nodes.size());
  const auto named = [&](const std::string& name) {
    for (std::size_t i = 0; i < times->size(); ++i) {
      if (planned->model.operators[i].name == name) return (*times)[i];
    }
    ADD_FAILURE() << name;
    return OperatorTimes();
  };
  // An operator that needs less time than the clock itself may measure as 0.
  double all_forward = 0;
  for (const OperatorTimes& each : *times) {
    EXPECT_GE(each.forward, 0);
    all_forward += each.forward;
    EXPECT_LT(each.forward + each.input_grad + each.weight_grad, 1);
    EXPECT_GT(each.warm_cache_factor, 0);
    EXPECT_LE(each.warm_cache_factor, 1);
  }
  EXPECT_GT(all_forward, 0);
  // 64 x 512 against 512 x 10 numbers a sample.
  EXPECT_GT(named("%2 linear").forward, named("%4 linear").forward);
  EXPECT_GT(named("%2 linear").weight_grad, named("%4 linear").weight_grad);
}

TEST(TimePasses, RefusesInvalidMicroBatches) {
  const auto model = program::testing::derive({"model", kModel}, "adam");
  const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  const auto planned = planned_step(model.train, ops, kBatch, 4);
  ASSERT_TRUE(planned.ok());
  const auto never = [](const program::Stages&) -> Result<program::Program> {
    return Error{Code::kInternal, "compiled", ""};
  };
  const SyntheticBatch batch(model.train, kBatch);
  for (const std::int64_t micro : {std::int64_t{0}, std::int64_t{7}, kBatch}) {
    const auto refused = time_passes(*planned, micro, never, batch.view(), 1);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, Code::kInvalidArgument) << micro;
  }
  EXPECT_EQ(time_passes(*planned, kMicro, never, batch.view(), 1).error().message, "compiled");
}

}  // namespace
}  // namespace lanista::runtime
