// Sums that read a value several times, against closed forms.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "lanista/exec/program/program.h"
#include "support/exec/program/aliasing_v1.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;
using Vector = std::vector<double>;

Vector linear(const std::vector<Tensor>& state, const std::string& node, const Vector& x) {
  const auto weight = elements_of<double>(tensor_named(state, node + ".weight"));
  const auto bias = elements_of<double>(tensor_named(state, node + ".bias"));
  Vector y(bias.begin(), bias.end());
  for (std::size_t o = 0; o < y.size(); ++o) {
    for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o * x.size() + i] * x[i];
  }
  return y;
}

Vector sum(const Vector& a, const Vector& b) {
  Vector y = a;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i];
  return y;
}

Vector map(const Vector& x, double (*f)(double)) {
  Vector y = x;
  for (double& value : y) value = f(value);
  return y;
}

double relu(double x) { return x > 0 ? x : 0; }
double tanh(double x) { return std::tanh(x); }

struct Known {
  TestModel model;
  std::function<Vector(const std::vector<Tensor>& state, const Vector& x)> f;
};

void PrintTo(const Known& known, std::ostream* out) { *out << known.model.name; }

// A value at the first and the last input of a sum.
Known repeated_summand() {
  return {{"repeated_summand",
           "%0 = input(shape=[6])\n%1 = linear(%0, out=5)\n%2 = relu(%1)\n%3 = tanh(%1)\n%4 = add(%2, %3, %2)\n"
           "%5 = linear(%4, out=3)\n%6 = output(%5)\n",
           "mse"},
          [](const auto& state, const Vector& x) {
            const Vector h = linear(state, "n1", x);
            return linear(state, "n5", sum(sum(map(h, relu), map(h, tanh)), map(h, relu)));
          }};
}

// No node reads a value twice, but the gradient of %1 is a sum that does.
Known repeated_gradient() {
  return {{"repeated_gradient",
           "%0 = input(shape=[6])\n%1 = linear(%0, out=5)\n%2 = linear(%0, out=5)\n%3 = add(%1, %2)\n"
           "%4 = tanh(%1)\n%5 = add(%4, %1, %3)\n%6 = linear(%5, out=3)\n%7 = output(%6)\n",
           "mse"},
          [](const auto& state, const Vector& x) {
            const Vector a = linear(state, "n1", x);
            const Vector b = linear(state, "n2", x);
            return linear(state, "n6", sum(sum(map(a, tanh), a), sum(a, b)));
          }};
}

class RepeatedInputs : public ::testing::TestWithParam<Known> {
 protected:
  static constexpr std::int64_t kSamples = 4;
  RepeatedInputs() {
    program.initialise(0, 5);
    state = program.extract(0);
  }

  Vector sample(std::int64_t i) const {
    const float* x = batch.features.data() + 6 * i;
    return {x, x + 6};
  }
  double loss() const {
    double total = 0;
    for (std::int64_t i = 0; i < kSamples; ++i) {
      const Vector y = GetParam().f(state, sample(i));
      for (std::size_t o = 0; o < 3; ++o)
        total += std::pow(y[o] - batch.targets[3 * static_cast<std::size_t>(i) + o], 2);
    }
    return total / (3 * kSamples);
  }

  const Derived derived = derive(GetParam().model);
  Program program = compile(derived, {.max_batch = kSamples, .precision = Precision::kFloat64});
  const OwnedBatch batch = random_batch(derived, kSamples, 3);
  std::vector<Tensor> state;
};

TEST_P(RepeatedInputs, PredictTheClosedForm) {
  Vector out(3 * kSamples);

  program.predict(0, batch.view(), out);

  for (std::size_t i = 0; i < kSamples; ++i) {
    const Vector wanted = GetParam().f(state, sample(static_cast<std::int64_t>(i)));
    for (std::size_t o = 0; o < 3; ++o) EXPECT_NEAR(out[3 * i + o], wanted[o], 1e-13);
  }
}

TEST_P(RepeatedInputs, TrainAlongTheClosedFormGradient) {
  constexpr double kStep = 1e-6;
  EXPECT_NEAR(step_once(program, batch, {.lr = 1}), loss(), 1e-13);
  const std::vector<Tensor> after = program.extract(0);

  for (Tensor& tensor : state) {
    if (tensor.type != ElementType::kF64) continue;  // counters
    const auto now = elements_of<double>(tensor);
    const auto moved = elements_of<double>(tensor_named(after, tensor.name));
    for (std::size_t e = 0; e < now.size(); ++e) {
      const double old = now[e];
      now[e] = old + kStep;
      const double above = loss();
      now[e] = old - kStep;
      const double below = loss();
      now[e] = old;
      EXPECT_NEAR(old - moved[e], (above - below) / (2 * kStep), 1e-8) << tensor.name << " element " << e;
    }
  }
}

TEST_P(RepeatedInputs, WereWrongInNumericClassOwn1) {
  EXPECT_TRUE(v1_rule_overwrote_value_read_again(derived.train, derived.infer));
  for (const TestModel& model : {small_mlp(), small_cnn(), model_named("residual")}) {
    const Derived right = derive(model);
    EXPECT_FALSE(v1_rule_overwrote_value_read_again(right.train, right.infer)) << model.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, RepeatedInputs, ::testing::Values(repeated_summand(), repeated_gradient()),
                         [](const auto& chosen) { return chosen.param.model.name; });

}  // namespace
}  // namespace lanista::program
