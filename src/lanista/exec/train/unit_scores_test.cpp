// Which units of a model the loss would miss: against differences of losses, and against every choice of units.
#include "lanista/exec/train/unit_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "lanista/exec/train/batch_buffers.h"
#include "lanista/exec/train/start_weights.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"
#include "support/exec/train/test_support.h"

namespace lanista::train {
namespace {

TrainerInput input_of(const std::string& model, std::uint32_t seed, const std::string& precision = "float64") {
  study::Recipe recipe = basic_recipe("adam", "constant", 3, 100, 0.01);
  recipe.precision = precision;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.99;
  recipe.eps = 1e-8;
  return {.trial = TrialId{1},
          .model = *graph::parse(model),
          .recipe = recipe,
          .metrics = {},
          .trial_seed = seed,
          .data_seed = 12,
          .data = &digits(),
          .step_ops = &ops()};
}

std::vector<Tensor> trained(const TrainerInput& input, int steps) {
  Trainer trainer = *Trainer::create(input);
  for (int i = 0; i < steps; ++i) trainer.step();
  return trainer.save().tensors;
}

/// A weight that reads the units of a node: entry i is of unit i / inner % reads / places.
struct Reader {
  std::string name;
  std::size_t inner, reads, places;
};
struct Case {
  std::string model;
  std::uint32_t node;
  std::size_t units;
  std::vector<Reader> readers;
};

const Case kCases[] = {
    // through an activation and batch norm
    {"%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=7)\n%3 = batch_norm(%2)\n%4 = relu(%3)\n"
     "%5 = linear(%4, out=10)\n%6 = output(%5)\n",
     2,
     7,
     {{"n5.weight", 1, 7, 1}}},
    // windows, and every place of a channel where images become features
    {"%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=4, kernel=[3,3], padding=[1,1])\n%2 = relu(%1)\n"
     "%3 = conv2d(%2, out=3, kernel=[3,3], stride=[2,2], padding=[1,1])\n%4 = relu(%3)\n%5 = flatten(%4)\n%6 = "
     "linear(%5, out=10)\n"
     "%7 = output(%6)\n",
     1,
     4,
     {{"n3.weight", 9, 4, 1}}},
    {"%0 = input(shape=[1,8,8])\n%1 = conv2d(%0, out=4, kernel=[3,3], padding=[1,1])\n%2 = relu(%1)\n"
     "%3 = conv2d(%2, out=3, kernel=[3,3], stride=[2,2], padding=[1,1])\n%4 = relu(%3)\n%5 = flatten(%4)\n%6 = "
     "linear(%5, out=10)\n"
     "%7 = output(%6)\n",
     3,
     3,
     {{"n6.weight", 1, 48, 16}}},
    // units that meet in a sum are one, and two layers read them
    {"%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=5)\n%3 = relu(%2)\n%4 = linear(%3, out=5)\n"
     "%5 = add(%3, %4)\n%6 = linear(%5, out=10)\n%7 = output(%6)\n",
     4,
     5,
     {{"n4.weight", 1, 5, 1}, {"n6.weight", 1, 5, 1}}},
};

TEST(UnitScores, MatchTheLossSlopeWhenAUnitIsScaledDown) {
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.model);
    const TrainerInput input = input_of(each.model, 3);
    const std::vector<Tensor> weights = trained(input, 10);
    const auto scores = score_units(input, weights);
    ASSERT_TRUE(scores) << scores.error().text();
    ASSERT_EQ(scores->at(graph::NodeId{each.node}).size(), each.units);

    const auto train = *autodiff::derive_training_step(input.model, {input.recipe.loss, input.recipe.optimizer}, ops());
    program::Program program = *program::Program::compile(train, *autodiff::derive_inference_step(input.model, ops()),
                                                          program_options_of(input));
    ASSERT_TRUE(program.begin(0, input.trial_seed));
    program::LaneGradients unused = *program.make_gradients();
    const auto order = data::epoch_order(digits().rows(data::Part::kTrain), input.data_seed, 0);
    BatchBuffers buffers(100, digits().spec());
    const auto loss = [&](std::size_t unit, double scale, std::size_t at) {
      std::vector<Tensor> state = weights;
      for (Tensor& tensor : state) {
        for (const Reader& reader : each.readers) {
          if (tensor.name != reader.name) continue;
          const auto values = elements_of<double>(tensor);
          for (std::size_t i = 0; i < values.size(); ++i) {
            if (i / reader.inner % reader.reads / reader.places == unit) values[i] *= scale;
          }
        }
        if (tensor.name == "step") elements_of<std::int64_t>(tensor)[0] = 0;
      }
      EXPECT_TRUE(program.insert(0, state));
      const program::Batch batch = buffers.fill(digits(), std::span(order).subspan(at * 100, 100));
      return program.gradients(0, batch, 100, {}, unused) / 100;
    };
    for (std::size_t unit = 0; unit < each.units; ++unit) {
      double mean = 0;
      for (std::size_t at = 0; at < 8; ++at) {
        constexpr double kStep = 1e-5;
        mean += std::abs(loss(unit, 1 + kStep, at) - loss(unit, 1 - kStep, at)) / (2 * kStep) / 8;
      }
      EXPECT_NEAR(scores->at(graph::NodeId{each.node})[unit], mean, 1e-7 + 1e-5 * mean) << unit;
    }
  }
}

std::string of_width(int hidden) {
  return "%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=" + std::to_string(hidden) +
         ")\n%3 = relu(%2)\n%4 = linear(%3, out=10)\n%5 = output(%4)\n";
}

/// The loss of the model that keeps these units of the parent.
double loss_with(const TrainerInput& parent, const std::vector<Tensor>& weights, std::size_t keeps,
                 const std::vector<double>& scores) {
  TrainerInput child = input_of(of_width(static_cast<int>(keeps)), 5);
  const auto pairs = zoo::lineage_mapping(parent.model, child.model);
  const auto plan =
      *zoo::plan_transfer(parent.model, child.model, pairs, ops(), {.scores = {{graph::NodeId{2}, scores}}});
  child.start = *transfer_weights({weights, {}}, plan, child.model, ops(), 5);
  return Trainer::create(child)->evaluate(data::Part::kTrain, "").at("loss");
}

// Of all the ways to keep five of eight units, 56 of them.
TEST(UnitScores, ChooseUnitsWithLowerLossThanMostChoices) {
  constexpr std::size_t kUnits = 8, kKept = 5;
  double better_than = 0, better_than_first = 0, over_best = 0, first_over_best = 0;
  constexpr int kModels = 12;
  for (std::uint32_t seed = 1; seed <= kModels; ++seed) {
    const TrainerInput parent = input_of(of_width(kUnits), seed);
    const std::vector<Tensor> weights = trained(parent, 60);
    const auto scores = score_units(parent, weights);
    ASSERT_TRUE(scores) << scores.error().text();
    const double chosen = loss_with(parent, weights, kKept, scores->at(graph::NodeId{2}));
    std::vector<double> all;
    std::vector<double> choice(kUnits);
    std::fill(choice.begin(), choice.begin() + kKept, 1.0);
    do {
      all.push_back(loss_with(parent, weights, kKept, choice));
    } while (std::prev_permutation(choice.begin(), choice.end()));
    ASSERT_EQ(all.size(), 56U);
    const double first = all.front(), best = *std::ranges::min_element(all);
    EXPECT_GE(chosen, best);
    EXPECT_NE(std::ranges::find(all, chosen), all.end());
    better_than += static_cast<double>(std::ranges::count_if(all, [&](double l) { return l > chosen; })) / 56 / kModels;
    better_than_first += chosen < first ? 1.0 / kModels : 0;
    over_best += (chosen - best) / kModels, first_over_best += (first - best) / kModels;
  }
  RecordProperty("better_than", std::to_string(better_than));
  EXPECT_GT(better_than, 0.7) << over_best << " " << first_over_best;
  EXPECT_GT(better_than_first, 0.6);
  EXPECT_LT(over_best, first_over_best);
}

TEST(UnitScores, ReportTensorsThatDoNotFit) {
  const TrainerInput input = input_of(of_width(4), 1);
  std::vector<Tensor> weights = trained(input, 1);
  std::erase_if(weights, [](const Tensor& tensor) { return tensor.name == "n4.bias"; });
  EXPECT_EQ(score_units(input, weights).error().message, "the weights lack 'n4.bias'");
  TrainerInput narrow = input;
  narrow.model =
      *graph::parse("%0 = input(shape=[1,8,8])\n%1 = flatten(%0)\n%2 = linear(%1, out=3)\n%3 = output(%2)\n");
  EXPECT_EQ(score_units(narrow, {}).error().code, Code::kInvalidArgument);
}

}  // namespace
}  // namespace lanista::train
