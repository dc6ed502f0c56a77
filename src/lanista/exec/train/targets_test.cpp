// Targets that are numbers, in whatever unit: training sees them standardised, metrics are in their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/exec/train/measure_weights.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/io/formats/npy.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

constexpr std::int64_t kRows = 120, kFeatures = 4;

Tensor floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  Tensor tensor{.name = {}, .type = ElementType::kF32, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(values.size() * sizeof(float));
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

data::Dataset rows_with(const std::vector<float>& targets, const std::string& how) {
  MemoryFileSystem disk;
  Rng rng = Rng(7).split("features");
  std::vector<float> x;
  for (std::int64_t i = 0; i < kRows * kFeatures; ++i) x.push_back(static_cast<float>(rng.normal()));
  const std::int64_t width = std::ssize(targets) / kRows;
  disk.put("/x.npy", formats::encode_npy(floats({kRows, kFeatures}, x)));
  disk.put("/y.npy", formats::encode_npy(floats({kRows, width}, targets)));
  study::DataConfig config;
  config.source = "npy:/x.npy,/y.npy?task=numbers";
  config.targets = how;
  auto set = data::open(config, "", disk);
  EXPECT_TRUE(set.ok()) << set.error().text();
  return *std::move(set);
}

std::vector<float> random_targets(std::uint64_t seed, std::int64_t width) {
  Rng rng = Rng(seed).split("targets");
  std::vector<float> out;
  for (std::int64_t i = 0; i < kRows * width; ++i) out.push_back(static_cast<float>(2 * rng.normal() + 0.5));
  return out;
}

struct Trained {
  std::vector<Tensor> state;
  std::map<std::string, double> measured, test;
};

TrainerInput input_of(const data::Dataset& data, const std::string& loss) {
  static const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  study::Recipe recipe = basic_recipe("sgd", "constant", 3, 16, 0.05);
  recipe.loss = loss;
  return {.trial = TrialId{1},
          .model = *graph::parse("%0 = input(shape=[4])\n%1 = linear(%0, out=6)\n%2 = tanh(%1)\n%3 = linear(%2, out=" +
                                 std::to_string(data.spec().target_size) + ")\n%4 = output(%3)\n"),
          .recipe = recipe,
          .metrics = study::applicable_metrics(0),
          .trial_seed = 3,
          .data_seed = 4,
          .data = &data,
          .step_ops = &ops};
}

Trained train(const data::Dataset& data, const std::string& loss) {
  const TrainerInput input = input_of(data, loss);
  auto trainer = *Trainer::create(input);
  while (trainer.epochs_done() < input.recipe.epochs) trainer.step();
  Trained out{trainer.save().tensors, trainer.measurements().back().metrics, trainer.evaluate(data::Part::kTest, "")};
  const auto saved = measure_weights(input, out.state, data::Part::kTest, "");
  EXPECT_TRUE(saved.ok());
  EXPECT_EQ(*saved, out.test);
  return out;
}

/// What a metric becomes where targets become so many times as large: its own unit times this.
double factor_of(const std::string& metric, double times) {
  for (const char* own : {"mae", "rmse", "quantile90"}) {
    if (metric.ends_with(own)) return times;
  }
  return 1;
}

// A power of two rounds nothing, so nothing at all may differ.
TEST(TargetUnits, ChangeNoBitOfTrainingWhenAPowerOfTwo) {
  for (const char* loss : {"mse", "mae", "huber"}) {
    for (const std::int64_t width : {1, 3}) {
      const std::vector<float> targets = random_targets(1, width);
      std::vector<float> large = targets;
      for (float& t : large) t *= 1024;

      const Trained one = train(rows_with(targets, "auto"), loss), other = train(rows_with(large, "auto"), loss);

      EXPECT_EQ(one.state, other.state);
      ASSERT_EQ(one.measured.size(), other.measured.size());
      for (const auto& [name, value] : one.measured) {
        EXPECT_EQ(other.measured.at(name), value * factor_of(name, 1024)) << name;
      }
      for (const auto& [name, value] : one.test) EXPECT_EQ(other.test.at(name), value * factor_of(name, 1024)) << name;
    }
  }
}

// Targets that are standardised already, used as they are, and the same in another unit. They are rounded to floats:
// half a unit in the last place of a * z + b is 2^-25 * (|z| + 0.2) deviations. 18 small steps of a tanh model with
// bounded gradients multiply that by some hundred at most.
TEST(TargetUnits, OfStandardisedTargetsMakeNoDifference) {
  constexpr double kScale = 50'000, kMean = 10'000, kTolerance = 1e-5;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const data::Dataset of = rows_with(random_targets(seed, 1), "standardize");
    std::vector<std::int64_t> all;
    for (std::int64_t row = 0; row < kRows; ++row) all.push_back(row);
    std::vector<float> standard(kRows), scaled;
    of.gather_targets(all, standard);
    for (const float z : standard) scaled.push_back(static_cast<float>(kScale * double{z} + kMean));

    const Trained raw = train(rows_with(standard, "raw"), "mse");
    const Trained own = train(rows_with(scaled, "standardize"), "mse");

    ASSERT_EQ(raw.state.size(), own.state.size());
    for (std::size_t i = 0; i < raw.state.size(); ++i) {
      if (raw.state[i].type != ElementType::kF32) continue;
      const auto a = elements_of<float>(raw.state[i]), b = elements_of<float>(own.state[i]);
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], kTolerance) << raw.state[i].name;
    }
    for (const auto& [name, value] : raw.test) {
      if (name == "mape") continue;  // is of the targets' sizes, which have changed
      const double times = factor_of(name, kScale);
      EXPECT_NEAR(own.test.at(name), times * value, kTolerance * times * (1 + std::abs(value))) << name;
    }
    EXPECT_NEAR(own.measured.at("train_loss"), raw.measured.at("train_loss"), kTolerance);
    EXPECT_NEAR(own.measured.at("val_loss"), raw.measured.at("val_loss"), kTolerance);
  }
}

// Of a model that predicts the mean: in standard units 1 by mse, in their own the deviation.
TEST(TargetUnits, ApplyToMetricsAndNotToTheLoss) {
  std::vector<float> targets;
  for (const float t : random_targets(9, 1)) targets.push_back(t * 1000 - 70);
  const data::Dataset data = rows_with(targets, "auto");
  const Trained trained = train(data, "mse");
  std::vector<Tensor> zero = trained.state;
  for (Tensor& tensor : zero) {
    if (tensor.type == ElementType::kF32) std::ranges::fill(elements_of<float>(tensor), 0.0F);
  }

  const auto measured = measure_weights(input_of(data, "mse"), zero, data::Part::kTrain, "");

  ASSERT_TRUE(measured.ok()) << measured.error().text();
  const auto& train_rows = data.rows(data::Part::kTrain);
  double sum = 0, away = 0, squares = 0;
  for (const std::int64_t row : train_rows) sum += static_cast<double>(targets[static_cast<std::size_t>(row)]);
  const double n = static_cast<double>(train_rows.size()), mean = sum / n;
  for (const std::int64_t row : train_rows) {
    const double error = static_cast<double>(targets[static_cast<std::size_t>(row)]) - mean;
    away += std::abs(error) / n;
    squares += error * error / n;
  }
  EXPECT_NEAR(measured->at("loss"), 1, 1e-9);
  EXPECT_NEAR(measured->at("mae"), away, 1e-9 * away);
  EXPECT_NEAR(measured->at("rmse"), std::sqrt(squares), 1e-9 * away);
}

}  // namespace
}  // namespace lanista::train
