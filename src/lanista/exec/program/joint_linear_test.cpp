// Which models begin with a layer that lanes compute as one product, and that no bit depends on it. Such a layer has
// two outputs here: half of a vector at the slowest level of the kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/opaque.h"
#include "lanista/exec/program/program.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"
#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

constexpr std::int64_t kLanes = 3;

TestModel text_model(std::string name, const std::string& shape, const std::string& lines) {
  return {std::move(name), "%0 = input(shape=[" + shape + "])\n" + lines, "cross_entropy"};
}

std::vector<TestModel> joint_models() {
  return {
      text_model("head", "6", "%1 = linear(%0, out=2)\n%2 = output(%1)\n"),
      text_model("without_bias", "6", "%1 = linear(%0, out=2, bias=false)\n%2 = output(%1)\n"),
      text_model("fused_relu", "6", "%1 = linear(%0, out=2)\n%2 = relu(%1)\n%3 = linear(%2, out=4)\n%4 = output(%3)\n"),
      text_model("image", "2,3,4", "%1 = flatten(%0)\n%2 = linear(%1, out=2)\n%3 = output(%2)\n"),
      text_model("calls_before", "2,4,4",
                 "%1 = max_pool2d(%0, kernel=[2,2])\n%2 = relu(%1)\n%3 = flatten(%2)\n%4 = linear(%3, out=2)\n"
                 "%5 = layer_norm(%4)\n%6 = tanh(%5)\n%7 = linear(%6, out=3)\n%8 = output(%7)\n"),
      text_model("rank_3", "4,6",
                 "%1 = linear(%0, out=2)\n%2 = flatten(%1)\n%3 = linear(%2, out=40)\n%4 = gelu(%3)\n"
                 "%5 = linear(%4, out=5)\n%6 = output(%5)\n"),
      text_model("batch_norm", "6",
                 "%1 = linear(%0, out=2)\n%2 = batch_norm(%1)\n%3 = dropout(%2, p=0.3)\n%4 = linear(%3, out=4)\n"
                 "%5 = output(%4)\n"),
  };
}

std::vector<TestModel> other_models() {
  return {
      text_model("too_wide", "6", "%1 = linear(%0, out=40)\n%2 = output(%1)\n"),
      text_model("two_layers", "6",
                 "%1 = linear(%0, out=2)\n%2 = linear(%0, out=2)\n%3 = mul(%1, %2)\n%4 = output(%3)\n"),
      text_model("value_before_is_read", "2",
                 "%1 = tanh(%0)\n%2 = linear(%1, out=2)\n%3 = mul(%2, %1)\n%4 = output(%3)\n"),
      text_model("random_before", "6", "%1 = dropout(%0, p=0.3)\n%2 = linear(%1, out=2)\n%3 = output(%2)\n"),
      text_model("layer_before", "2,4,4",
                 "%1 = conv2d(%0, out=3)\n%2 = flatten(%1)\n%3 = linear(%2, out=5)\n%4 = output(%3)\n"),
  };
}

bool is_joint(const Program& program) { return program.describe().find("one product") != std::string::npos; }

LaneHyper hyper_of(std::int64_t lane) {
  return {
      .lr = 0.02 * static_cast<double>(lane + 1), .momentum = lane == 1 ? 0.9 : 0, .clip_norm = lane == 2 ? 0.5 : 0};
}

// Batches of different sizes, the same for all lanes.
constexpr std::int64_t kSizes[] = {9, 4, 9, 1};

struct History {
  std::vector<std::vector<Tensor>> states;
  std::vector<double> losses;
  bool operator==(const History&) const = default;
};

History together(const Derived& derived, ProgramOptions options) {
  options.lanes = kLanes;
  options.max_batch = 9;
  Program program = compile(derived, options);
  std::vector<LaneHyper> hyper;
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    program.initialise(lane, static_cast<std::uint64_t>(lane) + 1);
    hyper.push_back(hyper_of(lane));
  }
  History history;
  for (std::uint64_t i = 0; i < std::size(kSizes); ++i) {
    const OwnedBatch batch = random_batch(derived, kSizes[i], i);
    const Batch view = batch.view();
    std::vector<double> loss(kLanes);
    program.train_step({&view, 1}, hyper, std::vector<std::uint8_t>(kLanes, 1), loss);
    history.losses.insert(history.losses.end(), loss.begin(), loss.end());
  }
  for (std::int64_t lane = 0; lane < kLanes; ++lane) history.states.push_back(program.extract(lane));
  return history;
}

History apart(const Derived& derived, ProgramOptions options) {
  options.max_batch = 9;
  History history;
  history.losses.resize(std::size(kSizes) * kLanes);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    Program program = compile(derived, options);
    EXPECT_FALSE(is_joint(program));
    program.initialise(0, static_cast<std::uint64_t>(lane) + 1);
    for (std::uint64_t i = 0; i < std::size(kSizes); ++i) {
      history.losses[i * kLanes + static_cast<std::size_t>(lane)] =
          step_once(program, random_batch(derived, kSizes[i], i), hyper_of(lane));
    }
    history.states.push_back(program.extract(0));
  }
  return history;
}

class JointModels : public ::testing::TestWithParam<TestModel> {};

TEST_P(JointModels, HaveTheBitsOfLanesAlone) {
  const Derived derived = derive(GetParam(), "adam");
  EXPECT_TRUE(is_joint(compile(derived, {.lanes = kLanes, .max_batch = 9})));
  const History wanted = apart(derived, {});
  EXPECT_TRUE(together(derived, {}) == wanted);
  EXPECT_TRUE(together(derived, {.threads = 2}) == wanted);
  EXPECT_TRUE(together(derived, {.threads = 5}) == wanted);
  EXPECT_TRUE(together(derived, {.precision = Precision::kFloat64}) ==
              apart(derived, {.precision = Precision::kFloat64}));
}

INSTANTIATE_TEST_SUITE_P(Models, JointModels, ::testing::ValuesIn(joint_models()),
                         [](const auto& chosen) { return chosen.param.name; });

class OtherModels : public ::testing::TestWithParam<TestModel> {};

TEST_P(OtherModels, ComputeTheLayerInEachLane) {
  const Derived derived = derive(GetParam(), "adam");
  EXPECT_FALSE(is_joint(compile(derived, {.lanes = kLanes, .max_batch = 9})));
  EXPECT_TRUE(together(derived, {}) == apart(derived, {}));
}

INSTANTIATE_TEST_SUITE_P(Models, OtherModels, ::testing::ValuesIn(other_models()),
                         [](const auto& chosen) { return chosen.param.name; });

TEST(JointLinear, IsAtMostHalfAVectorWide) {
  for (const kernels::Isa isa : kernels::available_isas()) {
    const std::int64_t half = kernels::vector_bytes(isa) / 8;  // floats
    for (const std::int64_t out : {half, half + 1}) {
      const Derived derived =
          derive(text_model("head", "6", "%1 = linear(%0, out=" + std::to_string(out) + ")\n%2 = output(%1)\n"));
      const Program program = compile(derived, {.lanes = kLanes, .max_batch = 9, .backend = &cpu_backend(isa)});
      EXPECT_EQ(is_joint(program), out == half) << kernels::isa_name(isa);
      EXPECT_TRUE(together(derived, {.backend = &cpu_backend(isa)}) == apart(derived, {.backend = &cpu_backend(isa)}));
    }
  }
}

TEST(JointLinear, IsLeftOutWhereItHasNoUse) {
  const Derived derived = derive(joint_models().front());
  EXPECT_FALSE(is_joint(compile(derived, {.lanes = 1, .max_batch = 8})));
  EXPECT_FALSE(is_joint(compile(derived, {.lanes = 2, .max_batch = 8, .shards = 2})));
  EXPECT_FALSE(is_joint(compile(derived, {.lanes = 2, .max_batch = 8, .accumulate = 2})));
}

TEST(JointLinear, CountsItsMemory) {
  const Derived derived = derive(joint_models().front());
  MemoryBudget budget(1 << 20);
  const Program program = compile_empty(derived, {.lanes = kLanes, .max_batch = 9, .budget = &budget});
  ASSERT_TRUE(is_joint(program));
  EXPECT_EQ(budget.used(), program.bytes());
  const Program alone = compile_empty(derived, {.lanes = 1, .max_batch = 9});
  // Results, weights, offsets and gradients of three lanes with 6 inputs and 2 outputs.
  EXPECT_GE(program.bytes() - alone.bytes(), std::int64_t{sizeof(float)} * kLanes * 2 * (9 + 6 + 1 + 6 + 1));
}

TEST(JointLinear, LetsOtherLanesTrainWhenOneThrows) {
  const Derived derived = derive(joint_models().front(), "adam");
  for (std::int64_t culprit = 0; culprit < kLanes; ++culprit) {
    Program program = compile(derived, {.lanes = kLanes, .max_batch = 8, .before_commit = [&](std::int64_t lane) {
                                          if (lane == culprit) throw std::runtime_error("culprit");
                                        }});
    std::vector<std::vector<Tensor>> before;
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      program.initialise(lane, 9);
      before.push_back(program.extract(lane));
    }
    ASSERT_TRUE(is_joint(program));
    const OwnedBatch batch = random_batch(derived, 8, 1);
    const Batch view = batch.view();
    std::vector<double> loss(kLanes);
    EXPECT_THROW(
        program.train_step({&view, 1}, std::vector<LaneHyper>(kLanes), std::vector<std::uint8_t>(kLanes, 1), loss),
        std::runtime_error);
    for (std::int64_t lane = 0; lane < kLanes; ++lane) {
      EXPECT_EQ(program.step_count(lane), lane == culprit ? 0 : 1);
      EXPECT_EQ(program.extract(lane) == before[static_cast<std::size_t>(lane)], lane == culprit);
    }
  }
}

/// An operator of the caller without parameters: it copies its input, or throws.
struct CopyOrThrow {
  const bool* throws;
  template <class T>
  void forward(const OpaqueCall<T>& call) const {
    if (*throws) throw std::runtime_error("copy_or_throw");
    std::ranges::copy(call.inputs[0], call.results[0].begin());
  }
  template <class T>
  void backward(const OpaqueCall<T>& call) const {
    std::ranges::copy(call.dy, call.results[0].begin());
  }
};

TEST(JointLinear, FailsInAllLanesIfACallBeforeItThrows) {
  bool throws = false;
  graph::OpDef def;
  def.name = "copy_or_throw";
  def.help = "Its input.";
  def.infer = graph::ops::infer_same;
  Operators operators;
  ASSERT_TRUE(operators.add(def, CopyOrThrow{&throws}));
  const graph::OpTable ops = autodiff::training_ops(operators.table());
  const auto model =
      graph::parse("%0 = input(shape=[6])\n%1 = copy_or_throw(%0)\n%2 = linear(%1, out=2)\n%3 = output(%2)\n");
  const auto train = autodiff::derive_training_step(*model, {}, ops);
  const auto infer = autodiff::derive_inference_step(*model, ops);
  ASSERT_TRUE(train && infer);
  const Derived derived{*model, *train, *infer};
  Program program = compile(derived, {.lanes = kLanes, .max_batch = 8, .operators = &operators});
  ASSERT_TRUE(is_joint(program));
  const OwnedBatch batch = random_batch(derived, 8, 1);
  const Batch view = batch.view();
  std::vector<double> loss(kLanes);
  const std::vector<LaneHyper> hyper(kLanes);
  const std::vector<std::uint8_t> active(kLanes, 1);

  throws = true;
  std::vector<LaneResult> results(kLanes);
  program.run({.active = active, .step_input = [&](std::int64_t) { return StepInput{{&view, 1}, hyper}; }}, results);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) {
    EXPECT_TRUE(results[static_cast<std::size_t>(lane)].failure);
    EXPECT_EQ(program.step_count(lane), 0);
  }
  throws = false;
  program.train_step({&view, 1}, hyper, active, loss);
  for (std::int64_t lane = 0; lane < kLanes; ++lane) EXPECT_EQ(program.step_count(lane), 1);
}

}  // namespace
}  // namespace lanista::program
