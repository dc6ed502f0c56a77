#include <gtest/gtest.h>

#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::autodiff {
namespace {

// Shape of the last node, or the error's message.
std::string shape(const std::string& text) {
  const auto graph = graph::parse(text);
  if (!graph) return graph.error().text();
  const auto types = graph::infer_shapes(*graph, training_ops(graph::builtin_ops()));
  if (!types) return types.error().message;
  const auto& outputs = types->outputs(graph->ids().back());
  return outputs.empty() ? "nothing" : outputs.front().shape.text();
}

struct Refusal {
  const char* text;
  const char* message;
};

// The derivation relies on these checks. Each text is an incorrect derivation.
TEST(StepOperators, RejectMismatchedShapes) {
  const Refusal cases[] = {
      {"%0 = input(shape=[4])\n%1 = parameter(name=\"w\", shape=[3,5])\n%2 = linear_grad_x(%0, %1)\n",
       "dy [N, 4] does not fit the weight [3, 5]"},
      {"%0 = input(shape=[2,4])\n%1 = input(shape=[3,4])\n%2 = linear_grad_w(%0, %1)\n",
       "must agree but for the last dimension"},
      {"%0 = input(shape=[6,4,4])\n%1 = parameter(name=\"w\", shape=[6,3,3,3])\n"
       "%2 = conv2d_grad_x(%0, %1, out=6, input_size=[3,8,8])\n",
       "dy (input 0) must be [N, 6, 6, 6], but it is [N, 6, 4, 4]"},
      {"%0 = input(shape=[3,8,8])\n%1 = input(shape=[6,5,6])\n%2 = conv2d_grad_w(%0, %1, out=6)\n",
       "dy (input 1) must be [N, 6, 6, 6], but it is [N, 6, 5, 6]"},
      {"%0 = input(shape=[4])\n%1 = input(shape=[5])\n%2 = relu_grad(%0, %1)\n", "inputs must have one shape"},
      {"%0 = input(shape=[4])\n%1 = input(shape=[5])\n%2 = softmax_grad(%0, %1)\n", "inputs must have one shape"},
      {"%0 = input(shape=[2,4,4])\n%1 = max_pool2d_train(%0)\n%2 = max_pool2d_grad(%1, %1, input_size=[2,4,4])\n",
       "the window index (input 0)"},
      {"%0 = input(shape=[2,4,4])\n%1 = avg_pool2d_grad(%0, input_size=[2,4,4])\n",
       "dy (input 0) must be [N, 2, 2, 2], but it is [N, 2, 4, 4]"},
      {"%0 = input(shape=[2,4,4])\n%1 = adaptive_avg_pool2d_grad(%0, input_size=[3,4,4])\n",
       "with the channels of dy [N, 2, 4, 4]"},
      {"%0 = input(shape=[4])\n%1 = slice_grad(%0, axis=1, start=2, shape=[5])\n",
       "dy [N, 4] is no slice of [N, 5] along axis 1 from element 2"},
      {"%0 = input(shape=[4])\n%1 = scale_grad_gate(%0, %0)\n", "x [N, 4] has no positions to sum over"},
      {"%0 = input(shape=[2,4,4])\n%1 = resize_grad(%0, input_size=[3,2,2])\n", "with the channels of dy [N, 2, 4, 4]"},
      {"%0 = input(shape=[4])\n%1 = input(shape=[3])\n%2 = clip_grad(%0, %1)\n", "inputs must have one shape"},
      {"%0 = input(shape=[1,4,4])\n%1 = crop(%0, pads=[2,2,0,0])\n", "off [N, 1, 4, 4]"},
      {"%0 = input(shape=[4])\n%1 = mean_grad(%0, axes=[2], shape=[5,3])\n",
       "dy [N, 4] is not the mean of [N, 5, 3] over axes [2]"},
      {"%0 = input(shape=[4])\n%1 = mean_grad(%0, axes=[3], shape=[4,3])\n", "do not ascend inside [N, 4, 3]"},
      {"%0 = input(shape=[4])\n%1 = target(kind=\"real\", shape=[])\n%2 = cross_entropy(%0, %1)\n",
       "the target (input 1) must be [N] of another element kind"},
      {"%0 = input(shape=[4,2,3])\n%1 = target(kind=\"index\", shape=[])\n%2 = cross_entropy_grad(%0, %1)\n",
       "at least two classes"},
      {"%0 = input(shape=[4,2])\n%1 = target(kind=\"index\", shape=[])\n%2 = cross_entropy_grad(%0, %1)\n",
       "the target (input 1) must be [N, 4], but it is [N]"},
      {"%0 = input(shape=[4])\n%1 = target(kind=\"real\", shape=[5])\n%2 = mse(%0, %1)\n",
       "inputs must have one shape"},
      {"%0 = input(shape=[4])\n%1 = target(kind=\"index\", shape=[4])\n%2 = mse_grad(%0, %1)\n", "class numbers"},
      {"%0 = parameter(name=\"a\", shape=[4])\n%1 = parameter(name=\"b\", shape=[3])\n%2 = sgd_update(%0, %1, %0)\n",
       "the gradient (input 1) must be [4], but it is [3]"},
      {"%0 = parameter(name=\"a\", shape=[4])\n%1 = sgd_update(%0, %0, %0, %0)\n",
       "needs 3 tensors for each parameter"},
      {"%0 = parameter(name=\"a\", shape=[4])\n%1 = parameter(name=\"b\", shape=[3])\n"
       "%2 = adam_update(%0, %0, %0, %1)\n",
       "the slot (input 3) must be [4], but it is [3]"},
      {"%0 = buffer(name=\"a\", shape=[4])\n%1 = parameter(name=\"b\", shape=[3])\n%2 = buffer_update(%0, %1)\n",
       "the new value (input 1) must be [4], but it is [3]"},
      {"%0 = input(shape=[4])\n%1 = buffer(name=\"a\", shape=[3])\n%2 = batch_norm_grad(%0, %1, %1, %0)\n",
       "the mean (input 1) must be [4], but it is [3]"},
      {"%0 = input(shape=[4])\n%1 = parameter(name=\"a\", shape=[4])\n%2 = batch_norm_train(%0, %1, %1, %1)\n",
       "parameters"},
  };
  for (const Refusal& c : cases) EXPECT_NE(shape(c.text).find(c.message), std::string::npos) << c.text << shape(c.text);
}

TEST(StepOperators, GiveTheShapesOfTheirForwardInputs) {
  EXPECT_EQ(shape("%0 = input(shape=[2,3])\n%1 = parameter(name=\"w\", shape=[3,5])\n%2 = linear_grad_x(%0, %1)\n"),
            "[N, 2, 5]");
  EXPECT_EQ(shape("%0 = input(shape=[2,3])\n%1 = input(shape=[2,7])\n%2 = linear_grad_w(%0, %1)\n"), "[7, 3]");
  EXPECT_EQ(shape("%0 = input(shape=[5,8,8])\n%1 = channel_sum(%0)\n"), "[5]");
  EXPECT_EQ(shape("%0 = input(shape=[5,8])\n%1 = channel_sum(%0)\n"), "[8]");
  EXPECT_EQ(shape("%0 = input(shape=[2,4,4])\n%1 = max_pool2d_train(%0)\n%2 = max_pool2d_grad(%1.1, %1, "
                  "input_size=[2,4,4])\n"),
            "[N, 2, 4, 4]");
  EXPECT_EQ(shape("%0 = input(shape=[4,1])\n%1 = mean_grad(%0, axes=[2], shape=[4,3])\n"), "[N, 4, 3]");
  EXPECT_EQ(shape("%0 = input(shape=[4])\n%1 = mean_grad(%0, axes=[2], shape=[4,3])\n"), "[N, 4, 3]");
  EXPECT_EQ(shape("%0 = parameter(name=\"a\", shape=[4])\n%1 = sgd_update(%0, %0, %0)\n"), "nothing");
}

TEST(StepOperators, AreRejectedInModels) {
  const auto model = graph::parse("%0 = input(shape=[4])\n%1 = relu_grad(%0, %0)\n%2 = output(%1)\n");
  ASSERT_TRUE(model);

  const auto verified = graph::verify(*model, training_ops(graph::builtin_ops()));

  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().code, Code::kInvalidArgument);
}

// Multiplications and additions of the last node, per sample.
double flops(const std::string& text) {
  const auto graph = graph::parse(text);
  const auto ops = training_ops(graph::builtin_ops());
  const auto types = graph::infer_shapes(*graph, ops);
  const graph::Node& node = graph->node(graph->ids().back());
  const graph::OpDef& def = *ops.find(node.op);
  return def.cost(graph::OpArgs{types->inputs(node), node.attrs, def}).flops;
}

TEST(StepOperators, CountGradientFlopsLikeForward) {
  // 7 rows, 5 features in, 3 out.
  EXPECT_EQ(flops("%0 = input(shape=[7,5])\n%1 = input(shape=[7,3])\n%2 = linear_grad_w(%0, %1)\n"), 2 * 7 * 5 * 3);
  EXPECT_EQ(flops("%0 = input(shape=[7,3])\n%1 = parameter(name=\"w\", shape=[3,5])\n%2 = linear_grad_x(%0, %1)\n"),
            2 * 7 * 5 * 3);
  // A window of 3 by 3 over 4 channels in 2 groups, 6 channels out, 4 x 5 positions.
  const std::string window = "out=6, kernel=[3], groups=2";
  EXPECT_EQ(flops("%0 = input(shape=[4,6,7])\n%1 = input(shape=[6,4,5])\n%2 = conv2d_grad_w(%0, %1, " + window + ")\n"),
            2 * 3 * 3 * 2 * 6 * 4 * 5);
  EXPECT_EQ(flops("%0 = input(shape=[6,4,5])\n%1 = parameter(name=\"w\", shape=[6,2,3,3])\n"
                  "%2 = conv2d_grad_x(%0, %1, input_size=[4,6,7], " +
                  window + ")\n"),
            2 * 3 * 3 * 2 * 6 * 4 * 5);
}

}  // namespace
}  // namespace lanista::autodiff
