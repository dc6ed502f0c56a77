// Derived gradients of every operator against central differences in float64.
#include <gtest/gtest.h>

#include <cmath>

#include "lanista/exec/program/program.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

class FiniteDifferences : public ::testing::TestWithParam<TestModel> {};

TEST_P(FiniteDifferences, EqualTheGradient) {
  constexpr double kStep = 1e-6;
  const Derived derived = derive(GetParam());
  Program program = compile(derived, {.max_batch = 4, .precision = Precision::kFloat64});
  program.initialise(0, 8);
  const OwnedBatch batch = random_batch(derived, 4, 21);
  std::vector<Tensor> state = program.extract(0);
  const std::vector<Tensor> before = state;
  step_once(program, batch, {.lr = 1, .label_smoothing = 0.1});
  const std::vector<Tensor> after = program.extract(0);
  const auto loss_at = [&](Tensor& tensor, std::size_t e, double value) {
    const double old = elements_of<double>(tensor)[e];
    elements_of<double>(tensor)[e] = value;
    EXPECT_TRUE(program.insert(0, state));
    const double loss = step_once(program, batch, {.lr = 0, .label_smoothing = 0.1});
    elements_of<double>(tensor)[e] = old;
    return loss;
  };

  for (const auto& trained : derived.train.state) {
    if (!trained.trained) continue;
    const auto old = elements_of<double>(tensor_named(before, trained.name));
    const auto moved = elements_of<double>(tensor_named(after, trained.name));
    for (Tensor& tensor : state) {
      if (tensor.name != trained.name) continue;
      // A stride that reaches all parts of a large tensor.
      for (std::size_t e = 0; e < old.size(); e += 1 + old.size() / 12) {
        const double slope = (loss_at(tensor, e, old[e] + kStep) - loss_at(tensor, e, old[e] - kStep)) / (2 * kStep);
        EXPECT_NEAR(old[e] - moved[e], slope, 1e-7) << trained.name << " element " << e;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, FiniteDifferences, ::testing::ValuesIn(operator_models()),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace lanista::program
