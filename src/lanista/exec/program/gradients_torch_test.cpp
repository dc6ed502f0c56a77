// Derived gradients and predictions of every operator against LibTorch's autograd in float64.
#include <gtest/gtest.h>

#include "lanista/model/autodiff/loss.h"
#include "support/exec/program/torch_oracle.h"

namespace lanista::program {
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

// Every loss, in one piece and in parts, one batch or two: the divisor is the number of samples, so that sums add up.
TEST(WeightedGradients, EqualAutogradForAnyBatchSplit) {
  std::size_t losses = 0;
  for (const TestModel& model : operator_models()) {
    const bool at_positions = model.name.starts_with("positions");
    const bool chosen = at_positions || model.name == "batch_norm" || model.name == "linear";
    if (autodiff::find_loss(model.name) == nullptr && !chosen) continue;
    losses += autodiff::find_loss(model.name) != nullptr ? 1 : 0;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      SCOPED_TRACE(model.name + " " + std::to_string(seed));
      Rng rng = Rng(seed).split(model.name);
      const Derived derived = derive(model);
      const std::int64_t n = rng.between(4, 9);
      Program program = compile(derived, {.max_batch = 9,
                                          .shards = rng.between(1, 3),
                                          .accumulate = rng.between(1, 2),
                                          .precision = Precision::kFloat64});
      program.initialise(0, 5);
      OwnedBatch batch = random_batch(derived, n, rng.next());
      for (std::int64_t i = 0; i < n; ++i) {
        batch.weights.push_back(rng.bernoulli(0.2) ? 0.0F : static_cast<float>(rng.uniform(0, 4)));
      }
      const LaneHyper hyper{.lr = 1, .label_smoothing = rng.bernoulli(0.5) ? 0.2 : 0.0};
      TorchModel oracle(derived, program.extract(0), at::kDouble);
      const double wanted_loss = TorchModel(derived, program.extract(0), at::kDouble).loss(batch, hyper).item<double>();
      const Tensors wanted = oracle.gradients(batch, hyper);

      auto halves = program.make_gradients();
      ASSERT_TRUE(halves);
      const std::int64_t first = model.name == "batch_norm" ? n : rng.between(1, n - 1);
      const auto width = static_cast<std::int64_t>(batch.features.size()) / n;
      const auto part = [&](std::int64_t begin, std::int64_t size) {
        Batch view = batch.view();
        const auto some = [&](auto all, std::int64_t each) {
          return all.empty()
                     ? all
                     : all.subspan(static_cast<std::size_t>(begin * each), static_cast<std::size_t>(size * each));
        };
        const auto outputs = static_cast<std::int64_t>(batch.targets.size()) / n;
        const auto labels = static_cast<std::int64_t>(batch.labels.size()) / n;
        return Batch{.size = size,
                     .features = some(view.features, width),
                     .labels = some(view.labels, labels),
                     .targets = some(view.targets, outputs),
                     .sample_index = some(view.sample_index, 1),
                     .weights = some(view.weights, 1)};
      };
      double sum = program.gradients(0, part(0, first), n, hyper, *halves);
      if (first < n) sum += program.gradients(0, part(first, n - first), n, hyper, *halves, true);
      EXPECT_NEAR(sum / static_cast<double>(n), wanted_loss, 1e-12 * std::max(1.0, wanted_loss));
      for (const Tensor& gradient : halves->extract()) {
        const at::Tensor& theirs = wanted.at(gradient.name);
        if (theirs.defined()) {
          EXPECT_LT(scaled_error(to_torch(gradient), theirs), 1e-10) << gradient.name;
        }
      }

      const std::vector<Tensor> before = program.extract(0);
      EXPECT_NEAR(step_once(program, batch, hyper), wanted_loss, 1e-12 * std::max(1.0, wanted_loss));
      const std::vector<Tensor> after = program.extract(0);
      for (const auto& [name, gradient] : wanted) {
        const at::Tensor moved = to_torch(tensor_named(before, name)) - to_torch(tensor_named(after, name));
        if (gradient.defined()) {
          EXPECT_LT(scaled_error(moved, gradient), 1e-10) << name;
        }
      }
    }
  }
  EXPECT_GE(losses, 5U) << "a model is called as its loss is";
}

// PyTorch's CrossEntropyLoss(weight) divides by the weights of the batch. With weights of mean 1 over it, it is ours.
TEST(WeightedGradients, EqualTorchClassWeightsWithMeanOne) {
  namespace F = torch::nn::functional;
  const Derived derived = derive(small_mlp());
  Program program = compile(derived, {.max_batch = 20, .precision = Precision::kFloat64});
  program.initialise(0, 3);
  OwnedBatch batch = random_batch(derived, 20, 4);
  std::vector<double> of_class;
  for (int c = 0; c < 10; ++c) of_class.push_back(0.25 + c);
  double sum = 0;
  for (const std::int32_t label : batch.labels) sum += of_class[static_cast<std::size_t>(label)];
  for (const std::int32_t label : batch.labels) {
    batch.weights.push_back(static_cast<float>(of_class[static_cast<std::size_t>(label)] * 20 / sum));
  }
  std::vector<double> logits(200);
  program.predict(0, batch.view(), logits);

  const double seen = step_once(program, batch, {.lr = 0.1});

  const at::Tensor labels = at::tensor(at::ArrayRef<std::int32_t>(batch.labels)).to(at::kLong);
  const double wanted =
      F::cross_entropy(at::tensor(at::ArrayRef<double>(logits)).reshape({20, 10}), labels,
                       F::CrossEntropyFuncOptions().weight(at::tensor(at::ArrayRef<double>(of_class))))
          .item<double>();
  EXPECT_NEAR(seen, wanted, 1e-6 * wanted) << "weights travel as floats";
}

INSTANTIATE_TEST_SUITE_P(Operators, Gradients, ::testing::ValuesIn(operator_models()),
                         [](const auto& chosen) { return chosen.param.name; });

}  // namespace
}  // namespace lanista::program
