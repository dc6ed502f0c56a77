// Answers at every position of a text: whether a model is refused that reads what it is asked for; what is measured.
#include "lanista/exec/train/causality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/exec/train/baseline.h"
#include "lanista/exec/train/measure_weights.h"
#include "lanista/exec/train/trainer.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/text.h"
#include "support/exec/train/recipe.h"

namespace lanista::train {
namespace {

const graph::OpTable& text_ops() {
  static const graph::OpTable kOps = autodiff::training_ops(graph::builtin_ops());
  return kOps;
}

/// Eight tokens a row, of seven: each follows from the one before it, four times out of five.
data::Dataset next_tokens(std::uint64_t seed = 1) {
  Rng rng = Rng(seed).split("text");
  std::string bytes{1};
  while (bytes.size() < 3000) {
    const int follows = (bytes.back() * 3 + 1) % 7;
    bytes.push_back(static_cast<char>(rng.bernoulli(0.8) ? follows : static_cast<int>(rng.below(7))));
  }
  MemoryFileSystem disk;
  disk.put("/text", bytes);
  study::DataConfig config;
  config.source = "tokens:/text?context=8&vocab=7&task=next_token";
  auto set = data::open(config, "", disk);
  EXPECT_TRUE(set.ok()) << set.error().text();
  return *std::move(set);
}

Result<void> checked(const std::string& layers, const data::DataSpec& spec) {
  const auto model = graph::parse("%0 = input(shape=[8], dtype=\"index\")\n" + layers);
  EXPECT_TRUE(model.ok()) << (model ? "" : model.error().text());
  const auto infer = autodiff::derive_inference_step(*model, text_ops());
  EXPECT_TRUE(infer.ok()) << (infer ? "" : infer.error().text());
  return check_causality(*infer, spec, {.shards = 3});
}

TEST(Causality, AcceptsModelsThatReadOnlyEarlierTokens) {
  const data::DataSpec spec = next_tokens().spec();
  const std::string begin = "%1 = embedding(%0, vocab=7, dim=6)\n", end = "%9 = linear(%8, out=7)\n%10 = output(%9)\n";
  for (const std::string& layers : {
           std::string("%2 = positional_embedding(%1)\n%3 = layer_norm(%2)\n%4 = attention(%3, heads=2, causal=true)\n"
                       "%5 = add(%2, %4)\n%6 = linear(%5, out=9)\n%7 = gelu(%6)\n%8 = dropout(%7, p=0.5)\n"),
           std::string("%8 = tanh(%1)\n"),
       }) {
    const auto result = checked(begin + layers + end, spec);
    EXPECT_TRUE(result) << result.error().text();
  }
}

TEST(Causality, RefusesModelsThatReadLaterTokens) {
  const data::DataSpec spec = next_tokens().spec();
  const std::string begin = "%1 = embedding(%0, vocab=7, dim=6)\n", end = "%9 = linear(%8, out=7)\n%10 = output(%9)\n";
  for (const std::string& layers : {
           std::string("%8 = attention(%1, heads=2)\n"),
           std::string("%2 = transpose(%1, axes=[0,2,1])\n%3 = conv1d(%2, out=6, kernel=3, padding=[1])\n"
                       "%8 = transpose(%3, axes=[0,2,1])\n"),
           // The first three tokens see each other, the others none.
           std::string("%2 = slice(%1, axis=1, start=0, end=3)\n%3 = attention(%2, heads=2)\n"
                       "%4 = slice(%1, axis=1, start=3)\n%8 = concat(%3, %4, axis=1)\n"),
           std::string("%2 = flatten(%1)\n%3 = linear(%2, out=48)\n%8 = reshape(%3, shape=[8,6])\n"),
       }) {
    const auto result = checked(begin + layers + end, spec);
    ASSERT_FALSE(result) << layers;
    EXPECT_NE(result.error().message.find("from the token of position"), std::string::npos) << result.error().message;
  }
  data::DataSpec one_label = spec;
  one_label.positions = 0;
  EXPECT_TRUE(checked(begin + "%8 = attention(%1, heads=2)\n" + end, one_label)) << "nothing is asked of other data";
}

/// A block of a transformer, pre-norm.
constexpr const char* kTransformer =
    "%0 = input(shape=[8], dtype=\"index\")\n%1 = embedding(%0, vocab=7, dim=16)\n%2 = positional_embedding(%1)\n"
    "%3 = layer_norm(%2)\n%4 = attention(%3, heads=2, causal=true)\n%5 = add(%2, %4)\n%6 = layer_norm(%5)\n"
    "%7 = linear(%6, out=32)\n%8 = gelu(%7)\n%9 = linear(%8, out=16)\n%10 = add(%5, %9)\n%11 = linear(%10, out=7)\n"
    "%12 = output(%11)\n";

TrainerInput text_input(const data::Dataset& data, const std::string& precision) {
  study::Recipe recipe = basic_recipe("adam", "constant", 12, 16, 0.01);
  recipe.precision = precision;
  recipe.beta1 = 0.9;
  recipe.beta2 = 0.999;
  recipe.eps = 1e-8;
  return {.trial = TrialId{1},
          .model = *graph::parse(kTransformer),
          .recipe = recipe,
          .metrics = {"accuracy", "perplexity", "top3"},
          .trial_seed = 3,
          .data_seed = 4,
          .data = &data,
          .step_ops = &text_ops()};
}

// After training it beats the frequencies of tokens; its metrics equal those computed here token by token.
TEST(NextTokens, AreLearntAndMeasuredTokenByToken) {
  const data::Dataset data = next_tokens();
  for (const std::string precision : {"float32", "float64"}) {
    const TrainerInput input = text_input(data, precision);
    auto trainer = Trainer::create(input);
    ASSERT_TRUE(trainer) << trainer.error().text();
    while (trainer->epochs_done() < input.recipe.epochs) trainer->step();
    const auto& reported = trainer->measurements().back().metrics;

    const auto& rows = data.rows(data::Part::kValidation);
    const auto predicted = predict_part(input, trainer->save().tensors, data::Part::kValidation);
    ASSERT_TRUE(predicted) << predicted.error().text();
    ASSERT_EQ(predicted->size(), rows.size() * 8 * 7);
    std::vector<std::int32_t> labels(rows.size() * 8);
    data.gather_labels(rows, labels);
    long double loss = 0;
    double right = 0, near = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto row = std::span(*predicted).subspan(7 * i, 7);
      const double own = row[static_cast<std::size_t>(labels[i])];
      long double sum = 0;
      int better = 0;
      for (const double x : row) {
        sum += std::exp(static_cast<long double>(x - own));
        better += x > own ? 1 : 0;
      }
      loss += std::log(sum);
      right += better == 0 ? 1 : 0;
      near += better < 3 ? 1 : 0;
    }
    const auto tokens = static_cast<double>(labels.size());
    const auto mean = static_cast<double>(loss / static_cast<long double>(tokens));
    EXPECT_NEAR(reported.at("val_loss"), mean, 1e-12);
    EXPECT_NEAR(reported.at("val_perplexity"), std::exp(mean), 1e-11);
    EXPECT_DOUBLE_EQ(reported.at("val_accuracy"), right / tokens);
    EXPECT_DOUBLE_EQ(reported.at("val_top3"), near / tokens);

    const auto constant = baselines(data, "cross_entropy", {"accuracy", "perplexity"}, {});
    ASSERT_EQ(constant.size(), 1U);
    EXPECT_GT(reported.at("val_accuracy"), constant.front().metrics.at("val_accuracy") + 0.2);
    EXPECT_LT(reported.at("val_perplexity"), constant.front().metrics.at("val_perplexity") - 1);
    std::vector<double> share(7);
    std::vector<std::int32_t> seen(data.rows(data::Part::kTrain).size() * 8);
    data.gather_labels(data.rows(data::Part::kTrain), seen);
    const auto each = 1 / static_cast<double>(seen.size());
    for (const std::int32_t label : seen) share[static_cast<std::size_t>(label)] += each;
    double of_frequencies = 0;
    for (const std::int32_t label : labels) of_frequencies -= std::log(share[static_cast<std::size_t>(label)]) / tokens;
    EXPECT_NEAR(constant.front().metrics.at("val_loss"), of_frequencies, 1e-9);
  }
}

TEST(NextTokens, RefuseAModelThatReadsThem) {
  const data::Dataset data = next_tokens();
  TrainerInput input = text_input(data, "float32");
  std::string text = kTransformer;
  text.replace(text.find("causal=true"), 11, "causal=false");
  input.model = *graph::parse(text);
  const auto trainer = Trainer::create(input);
  ASSERT_FALSE(trainer);
  EXPECT_NE(trainer.error().message.find("task=next_token"), std::string::npos) << trainer.error().message;
}

}  // namespace
}  // namespace lanista::train
