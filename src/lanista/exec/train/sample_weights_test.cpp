// Rows that count differently in training: as if they stood in the data as often.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "lanista/base/rng.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

constexpr std::int64_t kFeatures = 3;

/// Rows of some kind of target; of training rows, validation rows and none for the test.
struct RandomData {
  data::RawData raw;
  data::Split split;
};

RandomData random_row_model(std::uint64_t seed, const std::string& loss, std::int64_t train, std::int64_t others) {
  Rng rng = Rng(seed).split("weights");
  RandomData out;
  data::DataSpec& spec = out.raw.spec;
  spec.name = "random";
  spec.features.dims = {kFeatures};
  const bool classes = autodiff::find_loss(loss)->of_classes();
  spec.multilabel = loss == "bce";
  spec.classes = classes ? 3 : 0;
  spec.target_size = classes ? 1 : 3;
  for (std::int64_t row = 0; row < train + others; ++row) {
    for (std::int64_t i = 0; i < kFeatures; ++i) out.raw.features.push_back(static_cast<float>(rng.normal()));
    if (classes) {
      out.raw.labels.push_back(static_cast<std::int32_t>(row % 3));
    } else {
      for (int k = 0; k < 3; ++k) {
        out.raw.targets.push_back(spec.multilabel ? (rng.bernoulli(0.4) ? 1.0F : 0.0F)
                                                  : static_cast<float>(rng.normal()));
      }
    }
    out.split[row < train ? 0 : 1].push_back(row);
  }
  return out;
}

/// The training rows, each as often as its weight.
RandomData repeated(const RandomData& from, const std::vector<float>& weights) {
  RandomData out;
  out.raw.spec = from.raw.spec;
  const auto copy = [](const auto& of, std::size_t width, std::size_t row, auto& to) {
    for (std::size_t i = 0; !of.empty() && i < width; ++i) to.push_back(of[row * width + i]);
  };
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const bool trained = static_cast<std::int64_t>(row) < std::ssize(from.split[0]);
    const int times = trained ? static_cast<int>(weights[row]) : 1;
    for (int i = 0; i < times; ++i) {
      out.split[trained ? 0 : 1].push_back(out.raw.rows());
      copy(from.raw.features, kFeatures, row, out.raw.features);
      copy(from.raw.labels, 1, row, out.raw.labels);
      copy(from.raw.targets, 3, row, out.raw.targets);
    }
  }
  return out;
}

TrainerInput whole_batches(const data::Dataset& data, const std::string& loss) {
  static const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
  // The whole part, so the order of samples has no effect.
  study::Recipe recipe = basic_recipe("sgd", "constant", 4, data.spec().split_rows[0], 0.3);
  recipe.loss = loss;
  recipe.precision = "float64";
  recipe.label_smoothing = autodiff::find_loss(loss)->of_classes() ? 0.1 : 0;
  return {
      .trial = TrialId{1},
      .model = *graph::parse("%0 = input(shape=[3])\n%1 = linear(%0, out=5)\n%2 = tanh(%1)\n%3 = linear(%2, out=3)\n"
                             "%4 = output(%3)\n"),
      .recipe = recipe,
      .metrics = {},
      .trial_seed = 3,
      .data_seed = 4,
      .data = &data,
      .step_ops = &ops};
}

struct WeightedEnd {
  std::vector<Tensor> state;
  std::map<std::string, double> last;
};

WeightedEnd train_to_end(const data::Dataset& data, const std::string& loss) {
  const TrainerInput input = whole_batches(data, loss);
  auto trainer = *Trainer::create(input);
  while (trainer.epochs_done() < input.recipe.epochs) trainer.step();
  return {trainer.save().tensors, trainer.measurements().back().metrics};
}

void expect_close(const WeightedEnd& a, const WeightedEnd& b, double tolerance) {
  ASSERT_EQ(a.state.size(), b.state.size());
  for (std::size_t i = 0; i < a.state.size(); ++i) {
    if (a.state[i].type != ElementType::kF64) continue;
    const auto x = elements_of<double>(a.state[i]), y = elements_of<double>(b.state[i]);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], tolerance) << a.state[i].name;
  }
  for (const auto& [name, value] : a.last) EXPECT_NEAR(b.last.at(name), value, tolerance) << name;
}

// A row of weight 2 is two rows, one of weight 0 is none; what is measured is of the rows as they are.
TEST(SampleWeights, MatchRowsRepeatedAsOften) {
  for (const char* loss : {"cross_entropy", "focal", "mse", "mae", "huber", "bce"}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      SCOPED_TRACE(std::string(loss) + " " + std::to_string(seed));
      Rng rng(seed);
      RandomData rows = random_row_model(seed, loss, 24, 9);
      std::vector<float> weights;
      for (std::int64_t row = 0; row < 33; ++row)
        weights.push_back(static_cast<float>(rng.between(row == 0 ? 1 : 0, 3)));
      RandomData often = repeated(rows, weights);
      rows.raw.weights = weights;
      const auto weighted = data::Dataset::make(std::move(rows.raw), std::move(rows.split), "none", "raw");
      const auto plain = data::Dataset::make(std::move(often.raw), std::move(often.split), "none", "raw");
      ASSERT_TRUE(weighted.ok() && plain.ok());
      // Weights travel as floats of mean 1.
      expect_close(train_to_end(*weighted, loss), train_to_end(*plain, loss), 1e-5);
    }
  }
}

TEST(SampleWeights, OfClassesEqualWeightsOfTheirRows) {
  RandomData rows = random_row_model(5, "cross_entropy", 24, 9);
  RandomData same = rows;
  for (const std::int32_t label : rows.raw.labels) same.raw.weights.push_back(label == 1 ? 4.0F : 1.0F);
  const auto by_class = data::Dataset::make(rows.raw, rows.split, "none", "raw", {.balanced = false, .of = {{"1", 4}}});
  const auto by_row = data::Dataset::make(std::move(same.raw), std::move(same.split), "none", "raw");
  ASSERT_TRUE(by_class.ok() && by_row.ok()) << by_class.error().text();
  EXPECT_EQ(train_to_end(*by_class, "cross_entropy").state, train_to_end(*by_row, "cross_entropy").state);
}

TEST(SampleWeights, ThatAreEqualChangeNoBit) {
  for (const char* loss : {"cross_entropy", "huber"}) {
    RandomData rows = random_row_model(6, loss, 24, 9);
    RandomData alike = rows;
    alike.raw.weights.assign(33, 8.0F);
    const auto plain = data::Dataset::make(std::move(rows.raw), std::move(rows.split), "none", "raw");
    const auto weighted = data::Dataset::make(std::move(alike.raw), std::move(alike.split), "none", "raw");
    ASSERT_TRUE(weighted->weighted());
    const WeightedEnd a = train_to_end(*plain, loss), b = train_to_end(*weighted, loss);
    EXPECT_EQ(a.state, b.state);
    EXPECT_EQ(a.last, b.last);
  }
}

}  // namespace
}  // namespace lanista::train
