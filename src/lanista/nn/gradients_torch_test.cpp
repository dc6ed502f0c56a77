// Derived gradients and predictions of every operator against LibTorch's autograd in float64.
#include <gtest/gtest.h>

#include "lanista/nn/torch_oracle.h"

namespace lanista::nn {
namespace {

using namespace testing;

class Gradients : public ::testing::TestWithParam<TestModel> {};

TEST_P(Gradients, EqualAutograd) {
  for (const std::int64_t n : {1, 4, 7}) {
    // One sample has no variance over the batch.
    if (n == 1 && GetParam().text.find("batch_norm(") != std::string::npos) continue;
    const Derived derived = derive(GetParam());
    Program program = compile(derived, {.max_batch = 8, .precision = Precision::kFloat64});
    program.initialise(0, 5);
    const OwnedBatch batch = random_batch(derived, n, 11);
    const LaneHyper hyper{.lr = 1, .label_smoothing = 0.1};
    const std::vector<Tensor> before = program.extract(0);
    TorchModel oracle(derived, before, at::kDouble);

    const double loss = step_once(program, batch, hyper);
    const Tensors wanted = oracle.gradients(batch, hyper);

    const at::NoGradGuard no_grad;
    EXPECT_NEAR(loss, TorchModel(derived, before, at::kDouble).loss(batch, hyper).item<double>(), 1e-12);
    const std::vector<Tensor> after = program.extract(0);
    bool any = false;
    for (const auto& [name, gradient] : wanted) {
      // With a rate of one, the parameter moves by its gradient.
      const at::Tensor moved = to_torch(tensor_named(before, name)) - to_torch(tensor_named(after, name));
      if (gradient.defined()) {
        EXPECT_LT(scaled_error(moved, gradient), 1e-10) << name << " at batch " << n;
        any = any || gradient.abs().max().item<double>() > 0;
      } else {
        EXPECT_EQ(moved.abs().max().item<double>(), 0.0) << name;
      }
    }
    EXPECT_TRUE(any) << "no gradient at all";
    for (const auto& [name, value] : oracle.state()) {
      if (name.find("running") == std::string::npos) continue;
      EXPECT_LT(scaled_error(to_torch(tensor_named(after, name)), value), 1e-10) << name;
    }
  }
}

TEST_P(Gradients, PredictionsEqualTheOracle) {
  const Derived derived = derive(GetParam());
  Program program = compile(derived, {.max_batch = 8, .precision = Precision::kFloat64});
  program.initialise(0, 6);
  // A step first, so that running statistics are no longer zero and one.
  step_once(program, random_batch(derived, 8, 1), {.lr = 0.1});
  const OwnedBatch batch = random_batch(derived, 5, 12);

  std::vector<double> prediction(static_cast<std::size_t>(5 * program.prediction_size()));
  program.predict(0, batch.view(), prediction);

  const at::Tensor wanted = TorchModel(derived, program.extract(0), at::kDouble).predict(batch);
  EXPECT_LT(scaled_error(at::tensor(at::ArrayRef<double>(prediction)).reshape(wanted.sizes()), wanted), 1e-10);
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradients, ::testing::ValuesIn(operator_models()),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace lanista::nn
