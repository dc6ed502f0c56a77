#include "bench/cases.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "bench/lanista_program.h"
#include "bench/step_work.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista::bench {
namespace {

Case case_named(const std::string& name) {
  auto found = training_cases(std::span(&name, 1));
  LANISTA_CHECK(found.ok(), "the test uses a known case");
  return found->front();
}

StepInput work_of(const Case& c) {
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  return step_work(*autodiff::derive_training_step(c.model, {}, ops), ops, c.batch);
}

TEST(TrainingCases, HaveDocumentedParameterCounts) {
  // Parameters of a convolution without bias and of the norm after it.
  const auto conv_norm = [](std::int64_t in, std::int64_t out, std::int64_t window) {
    return in * out * window + 2 * out;
  };
  const auto linear = [](std::int64_t in, std::int64_t out) { return (in + 1) * out; };
  const auto inverted = [&](std::int64_t in, std::int64_t out) {
    return conv_norm(in, 4 * in, 1) + conv_norm(1, 4 * in, 9) + conv_norm(4 * in, out, 1);
  };
  const auto cnn = [&](std::int64_t cells) { return linear(9, 16) + linear(9 * 16, 32) + linear(32 * cells, 10); };
  const std::int64_t cell = conv_norm(3, 16, 9) + conv_norm(16, 16, 9) + conv_norm(16, 16, 1) + linear(16, 10);
  const std::map<std::string, std::int64_t> expected{
      {"mlp-64", linear(64, 64) + linear(64, 10)},
      {"mlp-256", linear(784, 256) + linear(256, 256) + linear(256, 10)},
      {"cnn-digits", cnn(2 * 2)},
      {"cnn-28", cnn(7 * 7)},
      {"nb201-cell", cell},
      {"nb201-cell-16", cell},
      {"mobilenet-small", conv_norm(1, 16, 9) + inverted(16, 16) + inverted(16, 24) + inverted(24, 24) +
                              conv_norm(24, 64, 1) + linear(64, 10)},
      {"transformer-tiny", (128 + 32) * 64 + 3 * 2 * 64 + linear(64, 3 * 64) + linear(64, 64) + linear(64, 256) +
                               linear(256, 64) + linear(64, 10)},
  };

  std::map<std::string, std::int64_t> counts;
  for (const Case& c : training_cases()) counts[c.name] = graph::model_cost(c.model, graph::builtin_ops())->parameters;

  EXPECT_EQ(counts, expected);
}

TEST(TrainingCases, AreModelsThatCanBeTrained) {
  const auto ops = autodiff::training_ops(graph::builtin_ops());
  for (const Case& c : training_cases()) {
    const auto verified = graph::verify(c.model, graph::builtin_ops());
    EXPECT_TRUE(verified.ok()) << c.name << ": " << verified.error().text();
    const auto train = autodiff::derive_training_step(c.model, {}, ops);
    ASSERT_TRUE(train.ok()) << c.name << ": " << train.error().text();
    for (const auto& tensor : train->state) {
      EXPECT_EQ(train->gradient.contains(tensor.node), tensor.trained) << c.name << " " << tensor.name;
    }
  }
}

TEST(TrainingCases, EqualBuiltInBases) {
  const auto ops = graph::builtin_ops();
  const auto hash = [&](const char* base, const graph::Shape& input) {
    return graph::canonical_hash(mutate::builtin_base(base, input, 10)->graph, ops);
  };
  EXPECT_EQ(graph::canonical_hash(case_named("mlp-64").model, ops), hash("small-mlp", {{64}}));
  EXPECT_EQ(graph::canonical_hash(case_named("cnn-digits").model, ops), hash("small-cnn", {{1, 8, 8}}));
  EXPECT_EQ(graph::canonical_hash(case_named("cnn-28").model, ops), hash("small-cnn", {{1, 28, 28}}));
}

TEST(TrainingCases, AreChosenByName) {
  const std::vector<std::string> names{"cnn-28", "mlp-64"};
  const auto chosen = training_cases(names);
  ASSERT_TRUE(chosen.ok());
  ASSERT_EQ(chosen->size(), 2U);
  EXPECT_EQ(chosen->front().name, "mlp-64");

  const std::vector<std::string> wrong{"mlp-65"};
  const auto none = training_cases(wrong);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, Code::kNotFound);
  EXPECT_EQ(
      none.error().message,
      "there is no case 'mlp-65'; did you mean 'mlp-64'? (known: mlp-64, mlp-256, cnn-digits, cnn-28, nb201-cell, "
      "nb201-cell-16, mobilenet-small, transformer-tiny)");
}

TEST(CaseBatch, HasTokensAndLabelsInRange) {
  const Case c = case_named("transformer-tiny");
  const CaseBatch batch(c);
  EXPECT_EQ(batch.features().size(), 32U * 32U);
  EXPECT_EQ(batch.labels().size(), 32U);
  EXPECT_EQ(batch.features(), CaseBatch(c).features());
  for (const float token : batch.features()) {
    EXPECT_TRUE(token >= 0 && token < 128 && token == static_cast<float>(static_cast<int>(token)));
  }
  for (const std::int32_t label : batch.labels()) EXPECT_TRUE(label >= 0 && label < 10);
}

TEST(StepInput, CountsTheProductsOfForwardAndBackwardPass) {
  // Every weight is used three times. Those of the first layer are used twice, because its input needs no gradient.
  EXPECT_EQ(work_of(case_named("mlp-64")).flops, 2.0 * 32 * (2 * 64 * 64 + 3 * 64 * 10));
  EXPECT_EQ(work_of(case_named("mlp-256")).flops, 2.0 * 128 * (2 * 784 * 256 + 3 * 256 * 256 + 3 * 256 * 10));
  EXPECT_EQ(work_of(case_named("cnn-digits")).flops,
            2.0 * 32 * (2 * 64 * 9 * 16 + 3 * 16 * 9 * 16 * 32 + 3 * 4 * 32 * 10));
  EXPECT_EQ(work_of(case_named("nb201-cell")).flops,
            2.0 * 32 * (2 * 64 * 9 * 3 * 16 + 3 * 64 * 9 * 16 * 16 + 3 * 64 * 16 * 16 + 3 * 16 * 10));
  // Each token has four d x d products of attention and two products of the MLP. Each pair of tokens has a score and a
  // sum.
  const double d = 64, t = 32;
  EXPECT_EQ(work_of(case_named("transformer-tiny")).flops,
            2.0 * 32 * 3 * (t * (4 * d * d + 2 * d * 256) + 2 * t * t * d + d * 10));
}

TEST(StepInput, CountsDepthwiseConvolution) {
  const double stem = 2 * 64 * 9 * 16, first = 64 * (16 * 64 + 9 * 64 + 64 * 16);
  const double second = 64 * 16 * 64 + 16 * (9 * 64 + 64 * 24), third = 16 * (24 * 96 + 9 * 96 + 96 * 24);
  EXPECT_EQ(work_of(case_named("mobilenet-small")).flops,
            2.0 * 32 * (stem + 3 * (first + second + third + 16 * 24 * 64 + 64 * 10)));
}

TEST(StepInput, CountsBytesOfBatchStateAndSavedValues) {
  const StepInput work = work_of(case_named("mlp-64"));
  EXPECT_EQ(work.batch_bytes, 4.0 * 32 * 64);
  EXPECT_EQ(work.kept_bytes, 4.0 * 32 * 64);  // outputs of the hidden layer
  EXPECT_EQ(work.state_bytes, 8.0 * (65 * 64 + 65 * 10));
  EXPECT_EQ(work.traffic(), 4.0 * 32 * 64 + 2 * (4.0 * 32 * 64 + 8.0 * (65 * 64 + 65 * 10)));
  EXPECT_EQ(work.resident(3), 8.0 * 32 * 64 + 3 * 8.0 * (65 * 64 + 65 * 10));
}

TEST(LanistaProgram, TrainsEachLaneWithOwnWeightsAndRate) {
  auto one = LanistaProgram::make(case_named("mlp-64"), 1, 1);
  auto three = LanistaProgram::make(case_named("mlp-64"), 3, 2);
  ASSERT_TRUE(one.ok() && three.ok());
  ASSERT_EQ(one->weights(0).trained.size(), 4U);
  EXPECT_EQ(one->weights(0).trained, three->weights(0).trained);
  EXPECT_NE(three->weights(0).trained, three->weights(1).trained);
  EXPECT_NE(three->rate(0), three->rate(1));
  const double first = one->step()[0];
  EXPECT_EQ(three->step()[0], first);
  double last = first;
  for (int i = 0; i < 20; ++i) {
    last = one->step()[0];
    EXPECT_EQ(three->step()[0], last);
  }
  EXPECT_LT(last, 0.9 * first);
}

}  // namespace
}  // namespace lanista::bench
