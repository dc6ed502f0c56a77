// The squared gradient norm of a step, against sums in double from states and gradients. The step itself is unchanged.
#include "lanista/exec/program/gradient_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "lanista/exec/program/program.h"
#include "lanista/model/autodiff/optimizer.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

const TestModel kNoisy{"noisy",
                       "%0 = input(shape=[6])\n%1 = linear(%0, out=40)\n%2 = batch_norm(%1)\n%3 = dropout(%2, p=0.3)\n"
                       "%4 = linear(%3, out=30)\n%5 = relu(%4)\n%6 = linear(%5, out=4)\n%7 = output(%6)\n"};

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  if (tensor.type == ElementType::kF64) {
    for (const double value : elements_of<double>(tensor)) out.push_back(value);
  } else {
    for (const float value : elements_of<float>(tensor)) out.push_back(static_cast<double>(value));
  }
  return out;
}

/// Sum over all tensors of (g / p)^2, p of the state before the step.
double square_by_hand(const std::vector<Tensor>& gradients, const std::vector<Tensor>& state, const LaneHyper& hyper,
                      std::int64_t steps_done) {
  double sum = 0;
  for (const Tensor& gradient : gradients) {
    const auto g = numbers(gradient);
    std::vector<double> v;
    for (const Tensor& each : state) {
      if (each.name == gradient.name + "/v") v = numbers(each);
    }
    for (std::size_t i = 0; i < g.size(); ++i) {
      double p = 1;
      if (!v.empty() && steps_done >= 5) {
        p = std::sqrt(v[i] / (1 - std::pow(hyper.beta2, static_cast<double>(steps_done)))) + hyper.eps;
      }
      sum += g[i] / p * (g[i] / p);
    }
  }
  return sum;
}

TEST(GradientSquare, EqualsSquaredPreconditionedGradient) {
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
    const Derived derived = derive(kNoisy, optimizer.name);
    for (const auto& [shards, accumulate] : {std::pair{1, 1}, {3, 1}, {1, 2}, {2, 2}}) {
      for (const Precision precision : {Precision::kFloat32, Precision::kFloat64}) {
        SCOPED_TRACE(optimizer.name + " " + std::to_string(shards) + " " + std::to_string(accumulate));
        ProgramOptions options{.max_batch = 12, .shards = shards, .accumulate = accumulate};
        options.precision = precision;
        Program plain = compile(derived, options), needs_gradient_norm = compile(derived, options);
        LaneGradients gradients = *needs_gradient_norm.make_gradients();
        LaneHyper hyper{.lr = 0.01, .momentum = 0.9, .beta2 = 0.98, .eps = 1e-3};
        const std::uint8_t one = 1;
        LaneResult seen, unseen;
        for (std::int64_t step = 0; step < 9; ++step) {
          const OwnedBatch batch = random_batch(derived, 5 + step % 7, static_cast<std::uint64_t>(step));
          const Batch view = batch.view();
          const std::vector<Tensor> before = needs_gradient_norm.extract(0);
          needs_gradient_norm.gradients(0, view, view.size, hyper, gradients);
          const double alone = needs_gradient_norm.squared_gradient_norm(0, gradients, hyper);
          const double wanted = square_by_hand(gradients.extract(), before, hyper, step);
          const auto step_input = [&](std::int64_t) { return StepInput{{&view, 1}, {&hyper, 1}}; };

          needs_gradient_norm.run(
              {.steps = 1, .active = {&one, 1}, .step_input = step_input, .needs_gradient_norm = {&one, 1}},
              {&seen, 1});
          plain.run({.steps = 1, .active = {&one, 1}, .step_input = step_input}, {&unseen, 1});

          EXPECT_NEAR(seen.squared_gradient_norm, wanted, 2e-4 * wanted) << step;
          EXPECT_EQ(alone, seen.squared_gradient_norm) << step;
          EXPECT_EQ(unseen.squared_gradient_norm, 0);
          EXPECT_EQ(seen.loss_sum, unseen.loss_sum);
          EXPECT_EQ(needs_gradient_norm.extract(0), plain.extract(0));
        }
      }
    }
  }
}

// Two lanes, one of which reports its gradient norm.
TEST(GradientSquare, IsReportedForRequestedLanes) {
  const Derived derived = derive(kNoisy, "adam");
  Program program = compile(derived, {.lanes = 2, .max_batch = 8});
  const OwnedBatch batch = random_batch(derived, 8, 3);
  const Batch view = batch.view();
  const std::vector<LaneHyper> hyper(2);
  const std::vector<std::uint8_t> active{1, 1}, needs_gradient_norm{0, 1};
  std::vector<LaneResult> results(2);
  program.run({.steps = 1,
               .active = active,
               .step_input =
                   [&](std::int64_t) {
                     return StepInput{{&view, 1}, hyper};
                   },
               .needs_gradient_norm = needs_gradient_norm},
              results);
  EXPECT_EQ(results[0].squared_gradient_norm, 0);
  EXPECT_GT(results[1].squared_gradient_norm, 0);
}

TEST(GradientSquare, AppliesAdamBiasCorrection) {
  for (const double beta2 : {0.0, 0.9, 0.999}) {
    for (const std::int64_t steps : {1, 2, 5, 17, 1000}) {
      EXPECT_NEAR(moment_correction(beta2, steps), 1 / std::sqrt(1 - std::pow(beta2, static_cast<double>(steps))),
                  1e-9 * moment_correction(beta2, steps));
    }
  }
  EXPECT_EQ(moment_correction(1, 3), 1) << "a moment that never moves";
}

}  // namespace
}  // namespace lanista::program
