// Every level with fused multiply-add gives the same bytes: vector width and tile never show in a number.
#include <gtest/gtest.h>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/program.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

struct Run {
  std::vector<Tensor> state;
  std::vector<double> losses;
  bool operator==(const Run&) const = default;
};

Run trained(const Derived& derived, kernels::Isa isa, Precision precision, std::uint64_t steps) {
  Program program = compile(derived, {.max_batch = 33, .precision = precision, .backend = &cpu_backend(isa)});
  program.initialise(0, 5);
  Run run;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const OwnedBatch batch = random_batch(derived, i % 3 == 2 ? 7 : 33, i);
    run.losses.push_back(step_once(program, batch, {.lr = 0.01, .momentum = 0.9, .weight_decay = 0.001}));
  }
  run.state = program.extract(0);
  return run;
}

std::vector<kernels::Isa> fused_levels() {
  std::vector<kernels::Isa> levels = kernels::available_isas();
  std::erase(levels, kernels::Isa::kPortable);
  return levels;
}

void expect_alike(const TestModel& model, const std::string& optimizer, std::uint64_t steps) {
  const std::vector<kernels::Isa> levels = fused_levels();
  if (levels.size() < 2) GTEST_SKIP() << "this CPU has fewer than two levels with fused multiply-add";
  const Derived derived = derive(model, optimizer);
  for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
    const Run first = trained(derived, levels.front(), precision, steps);
    for (std::size_t i = 1; i < levels.size(); ++i) {
      EXPECT_TRUE(trained(derived, levels[i], precision, steps) == first) << kernels::isa_name(levels[i]);
    }
  }
}

class Levels : public ::testing::TestWithParam<TestModel> {};

TEST_P(Levels, GiveTheSameBytes) { expect_alike(GetParam(), "adam", 5); }

INSTANTIATE_TEST_SUITE_P(Operators, Levels, ::testing::ValuesIn(operator_models()),
                         [](const auto& chosen) { return chosen.param.name; });

TEST(Levels, GiveTheSameBytesAfterFiftySteps) {
  for (const TestModel& model : {small_mlp(), small_cnn()}) expect_alike(model, "sgd", 50);
}

}  // namespace
}  // namespace lanista::program
