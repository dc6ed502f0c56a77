#include "lanista/exec/program/lower.h"

#include <gtest/gtest.h>

#include "support/exec/program/test_models.h"

namespace lanista::program {
namespace {

using namespace testing;

std::string train_kernels(const TestModel& model) {
  const Derived derived = derive(model);
  std::set<graph::Port> keep{derived.train.loss};
  for (const auto& [parameter, gradient] : derived.train.gradient) keep.insert(gradient);
  std::string names;
  for (const KernelCall& call :
       lower(derived.train.graph, derived.train.types, derived.train.compute, keep, shipped_lowering_rules()).calls) {
    names += (names.empty() ? "" : " ") + call.kernel;
  }
  return names;
}

TEST(Lower, FusesReluIntoThePreviousLayer) {
  const std::string names = train_kernels(small_mlp());
  EXPECT_TRUE(names.starts_with("linear_relu linear cross_entropy cross_entropy_grad ")) << names;
  EXPECT_NE(names.find("relu_grad"), std::string::npos) << names;
}

TEST(Lower, FusesReluIntoTheNextPoolAndRemovesItsGradient) {
  const std::string names = train_kernels(small_cnn());
  EXPECT_TRUE(names.starts_with("conv2d relu_max_pool2d_train conv2d relu_max_pool2d_train flatten linear ")) << names;
  EXPECT_EQ(names.find("relu_grad"), std::string::npos) << names;
}

TEST(Lower, KeepsAReluWithSeveralReaders) {
  const std::string names = train_kernels(model_named("relu_used_twice"));
  EXPECT_TRUE(names.starts_with("conv2d_relu max_pool2d_train add ")) << names;
  EXPECT_NE(names.find("relu_grad"), std::string::npos) << names;
}

TEST(Lower, KeepsLiveOutValues) {
  const Derived derived = derive(small_mlp());
  const graph::NodeId linear = derived.infer.compute.front();
  std::set<graph::Port> all;
  for (const graph::NodeId id : derived.infer.compute) all.insert({id, 0});

  const LoweredGraph lowered =
      lower(derived.infer.graph, derived.infer.types, derived.infer.compute, all, shipped_lowering_rules());

  EXPECT_TRUE(derived.infer.graph.contains(linear));
  for (const KernelCall& call : lowered.calls) EXPECT_NE(call.kernel, "linear_relu");
}

TEST(Lower, RemovesViewsOfSameBytes) {
  const std::string names = train_kernels(model_named("linear_rank_3"));
  EXPECT_EQ(names.find("flatten"), std::string::npos) << names;
  EXPECT_EQ(names.find("reshape"), std::string::npos) << names;
  EXPECT_EQ(train_kernels(model_named("identity")).find("identity"), std::string::npos);
}

// The same model twice: once as it is, and once with a second reader (that adds zero) between the two operators.
void expect_same_bits(const std::string& fused, const std::string& apart, const std::string& gone) {
  const auto train = [](const std::string& text) {
    const Derived derived = derive({.name = "pair", .text = text});
    Program program = compile(derived, {.max_batch = 9});
    program.initialise(0, 3);
    for (std::uint64_t i = 0; i < 5; ++i) step_once(program, random_batch(derived, 9, i), {.lr = 0.1});
    return std::pair(program.extract(0), program.describe());
  };
  const auto [state, text] = train(fused);
  const auto [other_state, other_text] = train(apart);
  EXPECT_NE(text.find(gone), std::string::npos);
  EXPECT_EQ(other_text.find(gone), std::string::npos);
  EXPECT_EQ(state, other_state);
}

TEST(Lower, FusesWithoutChangingABitOfALinearLayer) {
  const std::string head = "%0 = input(shape=[13])\n%1 = linear(%0, out=19)\n%2 = relu(%1)\n";
  const std::string tail = "%5 = output(%3)\n";
  expect_same_bits(head + "%3 = linear(%2, out=7)\n" + tail,
                   head + "%6 = zero(%1)\n%7 = add(%2, %6)\n%3 = linear(%7, out=7)\n" + tail, "linear_relu(");
}

TEST(Lower, FusesWithoutChangingABitOfAConvolution) {
  const std::string head =
      "%0 = input(shape=[3,5,6])\n%1 = conv2d(%0, out=11, kernel=[3], padding=[1])\n%2 = relu(%1)\n";
  const std::string tail = "%4 = global_avg_pool(%3)\n%5 = output(%4)\n";
  expect_same_bits(head + "%3 = conv2d(%2, out=5, kernel=[3])\n" + tail,
                   head + "%6 = zero(%1)\n%7 = add(%2, %6)\n%3 = conv2d(%7, out=5, kernel=[3])\n" + tail,
                   "conv2d_relu(");
}

TEST(Lower, FusesWithoutChangingABitOfAPool) {
  for (const std::string pool : {"kernel=[2]", "kernel=[3], stride=[1], padding=[1]"}) {
    const std::string head =
        "%0 = input(shape=[3,6,6])\n%1 = conv2d(%0, out=9, kernel=[3], padding=[1])\n%2 = relu(%1)\n";
    const std::string tail = "%4 = global_avg_pool(%3)\n%5 = output(%4)\n";
    expect_same_bits(head + "%3 = max_pool2d(%2, " + pool + ")\n" + tail,
                     head + "%6 = zero(%2)\n%7 = add(%2, %6)\n%3 = max_pool2d(%7, " + pool + ")\n" + tail,
                     "relu_max_pool2d_train(");
  }
}

TEST(Lower, DoesNotFuseReluBehindAChangeOfShape) {
  const std::string head = "%0 = input(shape=[4,1,1])\n%1 = depthwise_conv2d(%0, kernel=[1])\n";
  const std::string tail = "%4 = linear(%3, out=3)\n%5 = output(%4)\n";
  expect_same_bits(head + "%2 = relu(%1)\n%3 = flatten(%2)\n" + tail, head + "%2 = flatten(%1)\n%3 = relu(%2)\n" + tail,
                   "conv2d_relu(");
}

}  // namespace
}  // namespace lanista::program
