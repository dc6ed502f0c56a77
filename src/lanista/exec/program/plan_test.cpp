#include "lanista/exec/program/plan.h"

#include <gtest/gtest.h>

#include "lanista/exec/program/backend.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

std::string text_of(const std::vector<PlanLine>& plan) {
  std::string text;
  for (const PlanLine& line : plan) {
    text += line.text() + " | " + std::to_string(static_cast<std::int64_t>(line.flops)) + " flops, " +
            std::to_string(static_cast<std::int64_t>(line.bytes)) + " bytes\n";
  }
  return text;
}

TEST(Plan, ReportsFlopsAndBytesOfEveryCall) {
  const auto plan =
      compile(derive(small_mlp()), {.max_batch = 32, .backend = &cpu_backend(kernels::Isa::kPortable)}).plan();
  const std::string text = text_of(plan);

  for (const char* line :
       {"train %6 linear_relu([N, 64] plain input+0, [64, 64] in_out parameter+0, [64] plain parameter+16384) -> "
        "[N, 64] plain arena+0 | 262144 flops, 33024 bytes\n",
        "-> [10, 64] in_out gradient+16640 | 40960 flops, 12032 bytes\n",
        "commit sgd([4810] plain gradient+0) -> [4810] plain parameter+0 | 0 flops, 96200 bytes\n",
        "infer %6 linear_relu([N, 64] plain input+0, "}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
  // Two layers: forward pass and weight gradients, and the input gradient of the second.
  double flops = 0;
  for (const PlanLine& line : plan) flops += line.section == "train" ? line.flops : 0;
  EXPECT_EQ(flops, 2 * 32 * (2 * 64 * 64 + 3 * 64 * 10));
}

TEST(Plan, CostKeyHasAllThatDecidesTheTime) {
  const Derived derived = derive(small_mlp());
  const auto cost_key = [&](const ProgramOptions& options) {
    return compile(derived, options).plan().front().cost_key();
  };
  const std::string plain = cost_key({.max_batch = 8, .backend = &cpu_backend(kernels::Isa::kPortable)});

  EXPECT_EQ(plain, "portable float32 linear_relu{out=64}([8, 64], [64, 64], [64]) -> [8, 64]");
  EXPECT_EQ(cost_key({.lanes = 3, .max_batch = 8, .backend = &cpu_backend(kernels::Isa::kPortable)}), plain);
  EXPECT_NE(cost_key({.max_batch = 9, .backend = &cpu_backend(kernels::Isa::kPortable)}), plain);
  EXPECT_NE(
      cost_key({.max_batch = 8, .precision = Precision::kFloat64, .backend = &cpu_backend(kernels::Isa::kPortable)}),
      plain);
}

TEST(Plan, EqualsTheTextOfDescribe) {
  const Program program = compile(derive(small_cnn()), {});
  const std::string text = program.describe();

  for (const PlanLine& line : program.plan()) EXPECT_NE(text.find(line.text() + "\n"), std::string::npos);
}

TEST(Plan, CountsTheSlotsOfTheOptimiser) {
  const auto commit_bytes = [](const std::string& optimizer) {
    for (const PlanLine& line : compile(derive(small_mlp(), optimizer), {}).plan()) {
      if (line.section == "commit") return line.bytes;
    }
    return 0.0;
  };
  EXPECT_EQ(commit_bytes("sgd"), 4810 * 4 * 5);
  EXPECT_EQ(commit_bytes("adamw"), 4810 * 4 * 7);
}

// Every operator: one line per timer stop, and the results of a plain step.
TEST(ProfileStep, RunsAStepAndAPredictionAndCallsBackPerLine) {
  for (const TestModel& model : operator_models()) {
    const Derived derived = derive(model);
    Program profiled = compile(derived, {.max_batch = 6}), stepped = compile(derived, {.max_batch = 6});
    profiled.initialise(0, 5);
    stepped.initialise(0, 5);
    const OwnedBatch batch = random_batch(derived, 6, 1);

    std::size_t stops = 0;
    profiled.profile_step(batch.view(), {.lr = 0.1}, [&] { ++stops; });
    step_once(stepped, batch, {.lr = 0.1});

    EXPECT_EQ(stops, profiled.plan().size()) << model.name;
    EXPECT_EQ(profiled.extract(0), stepped.extract(0)) << model.name;
  }
}

}  // namespace
}  // namespace lanista::program
