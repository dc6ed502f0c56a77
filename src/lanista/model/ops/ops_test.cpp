#include <gtest/gtest.h>

#include <set>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"

namespace lanista::graph {
namespace {

// The model text with `input(shape=…)` as %0 and the operator under test as the last line.
Result<Graph> model(const std::string& input, const std::string& rest) {
  return parse("%0 = input(shape=" + input + ")\n" + rest + "\n");
}

// Shape of the last node of the model, or the error's message.
std::string shape(const std::string& input, const std::string& rest) {
  const auto graph = model(input, rest);
  if (!graph) return graph.error().text();
  const auto types = infer_shapes(*graph, builtin_ops());
  if (!types) return types.error().message;
  return types->at({graph->ids().back(), 0}).shape.text();
}

// "name[shape]" of all parameters, buffers in parentheses, fan-in behind a slash where the start needs it.
std::string params(const std::string& input, const std::string& rest) {
  const auto graph = model(input, rest);
  if (!graph) return graph.error().text();
  const auto all = parameters(*graph, builtin_ops());
  if (!all) return all.error().message;
  std::string text;
  for (const NamedParam& param : *all) {
    std::string one = param.name + param.spec.shape.text();
    if (param.spec.init == Init::kUniformFanIn) one += "/" + std::to_string(param.spec.fan_in);
    if (param.spec.init == Init::kOnes) one += "=1";
    if (!param.spec.trained) one = "(" + one + ")";
    text += (text.empty() ? "" : " ") + one;
  }
  return text;
}

double flops(const std::string& input, const std::string& rest) {
  const auto graph = model(input, rest);
  if (!graph) return -1;
  const auto cost = model_cost(*graph, builtin_ops());
  return cost ? cost->forward.flops : -1;
}

struct Case {
  const char* input;
  const char* text;
  const char* shape;
};

TEST(Operators, GiveTheShapesOfHandCalculation) {
  const Case cases[] = {
      {"[64]", "%1 = linear(%0, out=10)", "[N, 10]"},
      {"[5,8]", "%1 = linear(%0, out=3)", "[N, 5, 3]"},
      {"[3,32,32]", "%1 = conv2d(%0, out=8)", "[N, 8, 30, 30]"},
      {"[3,32,32]", "%1 = conv2d(%0, out=8, kernel=[3,5], padding=[1,2], stride=[2])", "[N, 8, 16, 16]"},
      {"[4,11,12]", "%1 = conv2d(%0, out=6, kernel=[3], dilation=[2,3], groups=2)", "[N, 6, 7, 6]"},
      {"[3,9,9]", "%1 = depthwise_conv2d(%0, kernel=[3], multiplier=2)", "[N, 6, 7, 7]"},
      {"[3,9,9]", "%1 = separable_conv2d(%0, out=5, kernel=[3], padding=[1], stride=[2])", "[N, 5, 5, 5]"},
      {"[7]", "%1 = batch_norm(%0)", "[N, 7]"},
      {"[4,5,6]", "%1 = batch_norm(%0, affine=false)", "[N, 4, 5, 6]"},
      {"[5,8]", "%1 = layer_norm(%0, axes=2)", "[N, 5, 8]"},
      {"[4,5,6]", "%1 = group_norm(%0, groups=2)", "[N, 4, 5, 6]"},
      {"[4]", "%1 = relu(%0)", "[N, 4]"},
      {"[4,3]", "%1 = gelu(%0)", "[N, 4, 3]"},
      {"[4]", "%1 = silu(%0)", "[N, 4]"},
      {"[4]", "%1 = tanh(%0)", "[N, 4]"},
      {"[4]", "%1 = sigmoid(%0)", "[N, 4]"},
      {"[4]", "%1 = identity(%0)", "[N, 4]"},
      {"[4]", "%1 = zero(%0)", "[N, 4]"},
      {"[4]", "%1 = output(%0)", "[N, 4]"},
      {"[4,5]", "%1 = softmax(%0, axis=1)", "[N, 4, 5]"},
      {"[4]", "%1 = dropout(%0, p=0.25)", "[N, 4]"},
      {"[2,8,9]", "%1 = max_pool2d(%0, kernel=[2])", "[N, 2, 4, 4]"},
      {"[2,8,9]", "%1 = max_pool2d(%0, kernel=[3], stride=[1], padding=[1])", "[N, 2, 8, 9]"},
      {"[2,8,9]", "%1 = avg_pool2d(%0, kernel=[2,3])", "[N, 2, 4, 3]"},
      {"[2,8,9]", "%1 = adaptive_avg_pool2d(%0, out=[3,2])", "[N, 2, 3, 2]"},
      {"[2,8,9]", "%1 = global_avg_pool(%0)", "[N, 2]"},
      {"[4]", "%1 = add(%0, %0, %0)", "[N, 4]"},
      {"[4]", "%1 = mul(%0, %0)", "[N, 4]"},
      {"[2,3,3]", "%1 = conv2d(%0, out=5, kernel=[1])\n%2 = concat(%0, %1, %0)", "[N, 9, 3, 3]"},
      {"[2,3,4]", "%1 = concat(%0, %0, axis=3)", "[N, 2, 3, 8]"},
      {"[2,3,4]", "%1 = flatten(%0)", "[N, 24]"},
      {"[2,3,4]", "%1 = reshape(%0, shape=[4,6])", "[N, 4, 6]"},
      {"[2,3,4]", "%1 = transpose(%0, axes=[0,3,1,2])", "[N, 4, 2, 3]"},
      {"[2,3,4]", "%1 = pad(%0, pads=[1,2,3,4])", "[N, 2, 6, 11]"},
      {"[3,4]", "%1 = matmul(%0, %0, transpose_b=true)", "[N, 3, 3]"},
      {"[3,4]", "%1 = matmul(%0, %0, transpose_a=true)", "[N, 4, 4]"},
      {"[2,3,4]", "%1 = mean(%0, axes=[1,3])", "[N, 3]"},
      {"[2,3,4]", "%1 = mean(%0, axes=[2], keep=true)", "[N, 2, 1, 4]"},
      {"[4]", "%1 = mean(%0, axes=[1])", "[N]"},
      {"[3,8,9]", "%1 = conv2d(%0, out=2, padding=[0,1,2,0])", "[N, 2, 7, 9]"},
      {"[3,8,9]", "%1 = conv2d(%0, out=2, kernel=[2], padding=[0,1,0,1])", "[N, 2, 8, 9]"},
      {"[2,8,9]", "%1 = max_pool2d(%0, kernel=[3], stride=[2], ceil_mode=true)", "[N, 2, 4, 4]"},
      {"[2,8,9]", "%1 = max_pool2d(%0, kernel=[3], stride=[2])", "[N, 2, 3, 4]"},
      {"[2,4,4]", "%1 = avg_pool2d(%0, kernel=[1], stride=[3], ceil_mode=true)", "[N, 2, 2, 2]"},
      {"[2,3,3]", "%1 = avg_pool2d(%0, kernel=[2], stride=[3], padding=[1,0,0,1], ceil_mode=true)", "[N, 2, 2, 1]"},
      {"[2,4,4]", "%1 = avg_pool2d(%0, kernel=[2], stride=[4], padding=[1,0,0,0], ceil_mode=true)", "[N, 2, 2, 1]"},
      {"[4]", "%1 = leaky_relu(%0, alpha=0.2)", "[N, 4]"},
      {"[4]", "%1 = elu(%0)", "[N, 4]"},
      {"[4]", "%1 = clip(%0, min=0)", "[N, 4]"},
      {"[4]", "%1 = relu6(%0)", "[N, 4]"},
      {"[4]", "%1 = hard_sigmoid(%0, alpha=0.2)", "[N, 4]"},
      {"[4]", "%1 = hard_swish(%0)", "[N, 4]"},
      {"[4]", "%1 = sub(%0, %0)", "[N, 4]"},
      {"[4]", "%1 = div(%0, %0)", "[N, 4]"},
      {"[2,3,4]", "%1 = slice(%0, axis=3, start=1)", "[N, 2, 3, 3]"},
      {"[2,3,4]", "%1 = slice(%0, axis=1, end=-1)", "[N, 1, 3, 4]"},
      {"[2,3,4]", "%1 = slice(%0, axis=2, start=-2, end=2)", "[N, 2, 1, 4]"},
      {"[2,3,4]", "%1 = global_avg_pool(%0)\n%2 = scale(%0, %1)", "[N, 2, 3, 4]"},
      {"[3,4]", "%1 = mean(%0, axes=[1])\n%2 = scale(%0, %1)", "[N, 3, 4]"},
      {"[6,3,4]", "%1 = channel_shuffle(%0, groups=3)", "[N, 6, 3, 4]"},
      {"[6,3,4]", "%1 = lrn(%0, size=5)", "[N, 6, 3, 4]"},
      {"[2,3,4]", "%1 = resize(%0, out=[5,2])", "[N, 2, 5, 2]"},
      {"[2,3,4]", "%1 = upsample(%0, factor=[2,3], mode=\"bilinear\")", "[N, 2, 6, 12]"},
      {"[2,3,4]", "%1 = global_max_pool(%0)", "[N, 2]"},
      {"[3,5]", "%1 = global_avg_pool(%0)", "[N, 3]"},
      {"[4,5,6]", "%1 = conv_transpose2d(%0, out=3)", "[N, 3, 7, 8]"},
      {"[4,5,6]", "%1 = conv_transpose2d(%0, out=3, kernel=[4], stride=[2], padding=[1])", "[N, 3, 10, 12]"},
      {"[4,5,6]", "%1 = conv_transpose2d(%0, out=6, stride=[3,2], padding=[0,1,2,0], output_padding=[2,1], groups=2)",
       "[N, 6, 16, 12]"},
      {"[4,9]", "%1 = conv1d(%0, out=6)", "[N, 6, 7]"},
      {"[4,9]", "%1 = conv1d(%0, out=6, kernel=2, stride=2, padding=[0,1], dilation=2, groups=2)", "[N, 6, 4]"},
      {"[4,9]", "%1 = max_pool1d(%0)", "[N, 4, 4]"},
      {"[5], dtype=\"index\"", "%1 = embedding(%0, vocab=7, dim=3)", "[N, 5, 3]"},
      {"[5,6]", "%1 = positional_embedding(%0)", "[N, 5, 6]"},
      {"[5,6]", "%1 = scale_by(%0, by=0.5)", "[N, 5, 6]"},
      {"[5,6]", "%1 = shift_by(%0, by=0.5)", "[N, 5, 6]"},
      {"[5,6]", "%1 = exp(%0)\n%2 = log(%1)\n%3 = sqrt(%2)", "[N, 5, 6]"},
      {"[2,4,4]", "%1 = causal_mask(%0)", "[N, 2, 4, 4]"},
      {"[5,6]", "%1 = attention(%0, heads=3, causal=true)", "[N, 5, 6]"},
      {"[4,9]", "%1 = avg_pool1d(%0, kernel=3, stride=2, padding=[1], ceil_mode=true)", "[N, 4, 5]"},
  };
  std::set<std::string> tested{"input"};
  for (const Case& c : cases) {
    EXPECT_EQ(shape(c.input, c.text), c.shape) << c.text;
    const auto graph = model(c.input, c.text);
    ASSERT_TRUE(graph) << graph.error().text();
    for (const auto& node : graph->nodes()) tested.insert(node->op);
  }
  const OpTable ops = builtin_ops();
  for (const std::string& name : ops.names()) {
    if (ops.find(name)->family == OpFamily::kActivation) {
      EXPECT_EQ(shape("[7]", "%1 = " + name + "(%0)"), "[N, 7]") << name;
      continue;
    }
    EXPECT_TRUE(tested.contains(name)) << "no shape is stated for " << name;
  }
}

TEST(Operators, ReportShapeErrors) {
  const Case cases[] = {
      {"[3,8,8]", "%1 = linear(%0, out=2)", "flatten images first"},
      {"[3,4,4]", "%1 = conv2d(%0, out=2, kernel=[5])",
       "height: a kernel of 5 (dilation 1) reaches over 5 cells, but there are 4 and a padding of 0 on both sides"},
      {"[3,9,4]", "%1 = conv2d(%0, out=2, kernel=[3], dilation=[2])",
       "width: a kernel of 3 (dilation 2) reaches over 5 cells, but there are 4"},
      {"[3,8,8]", "%1 = conv2d(%0, out=4, groups=2)", "2 groups do not divide 3 input and 4 output channels"},
      {"[8]", "%1 = conv2d(%0, out=4)", "must be images [N, C, H, W], but it is [N, 8]"},
      {"[3,8,8]", "%1 = conv2d(%0, out=4, kernel=[3,3,3])", "kernel must list one or two integers, but it lists 3"},
      {"[3,8,8]", "%1 = conv2d(%0, out=4, padding=[1,1,1])",
       "padding must be [all], [rows, columns] or [top, bottom, left, right], but it lists 3 integers"},
      {"[3,4,4]", "%1 = conv2d(%0, out=2, kernel=[6], padding=[1,0,0,0])",
       "height: a kernel of 6 (dilation 1) reaches over 6 cells, but there are 4 and a padding of 1 before and 0 "
       "behind"},
      {"[2,8,8]", "%1 = max_pool2d(%0, kernel=[3], padding=[0,2,0,0])",
       "padding [0,2,0,0] is above half the kernel 3x3"},
      {"[2,8,8]", "%1 = conv_transpose2d(%0, out=2, stride=[2], output_padding=[2])",
       "output padding 2x2 must be smaller than the stride 2x2"},
      {"[2,1,1]", "%1 = conv_transpose2d(%0, out=2, padding=[2])", "padding [2] leaves a result of -1x-1 cells"},
      {"[3,8,8]", "%1 = conv_transpose2d(%0, out=4, groups=2)", "2 groups do not divide 4 input and 3 output channels"},
      {"[2,8]", "%1 = conv1d(%0, out=2, kernel=9)", "width: a kernel of 9 (dilation 1) reaches over 9 cells"},
      {"[2,8]", "%1 = conv1d(%0, out=2, padding=[1,1,1])", "padding must list one or two integers, but it lists 3"},
      {"[8]", "%1 = max_pool1d(%0)", "must be sequences [N, C, L], but it is [N, 8]"},
      {"[2,300,2]", "%1 = global_max_pool(%0)", "images are at most 255x255, but input 0 is [N, 2, 300, 2]"},
      {"[8]", "%1 = global_avg_pool(%0)", "must be [N, C, L] or [N, C, H, W], but it is [N, 8]"},
      {"[2,3,4]", "%1 = slice(%0, axis=4)", "axis 4 of [N, 2, 3, 4] does not exist"},
      {"[2,3,4]", "%1 = slice(%0, axis=3, start=2, end=-2)",
       "elements 2 up to -2 (start, end) of axis 3 are no run in [N, 2, 3, 4]"},
      {"[2,3,4]", "%1 = slice(%0, axis=3, end=5)", "are no run in"},
      {"[2,3,4]", "%1 = slice(%0, axis=3, start=-5)", "are no run in"},
      {"[2,3,4]", "%1 = mean(%0, axes=[1,2])\n%2 = scale(%0, %1)",
       "the gate (input 1) must be [N, 2], but it is [N, 4]"},
      {"[4]", "%1 = scale(%0, %0)", "must be [N, C, H, W] or [N, ..., C], but it is [N, 4]"},
      {"[4,3,3]", "%1 = channel_shuffle(%0, groups=3)", "3 groups do not divide 4 channels"},
      {"[4,3,3]", "%1 = lrn(%0, size=3, bias=0)", "bias must lie in [1e-6, 1e6], but it is 0"},
      {"[4,3,3]", "%1 = lrn(%0, size=3, beta=-1)", "beta must lie in [0, 100], but it is -1"},
      {"[4,3,3]", "%1 = lrn(%0, size=3, alpha=-1)", "alpha must lie in [0, 1e6], but it is -1"},
      {"[4,3,3]", "%1 = lrn(%0, size=2000001)", "size 2000001 is above 1048576"},
      {"[4,3,3]", "%1 = lrn(%0, size=4)", "size 4 is even, so that no channel is in the middle"},
      {"[4,3,3]", "%1 = resize(%0, out=[1,2,3])", "out must list one or two integers, but it lists 3"},
      {"[4,3,3]", "%1 = upsample(%0, factor=[1000000])", "a result of 3000000x3000000 cells is above 1048576 a side"},
      {"[4]", "%1 = resize(%0, out=[2])", "must be images [N, C, H, W], but it is [N, 4]"},
      {"[4]", "%1 = clip(%0, min=2, max=1)", "min 2.0 is above max 1.0"},
      {"[4]", "%1 = leaky_relu(%0, alpha=1e300)", "alpha must be a number in single precision"},
      {"[4]", "%1 = elu(%0, alpha=-1)", "alpha must not be negative, but it is -1"},
      {"[3,8,8]", "%1 = conv2d(%0, out=4, kernel=[])", "kernel must list one or two integers, but it lists 0"},
      {"[3,8,8]", "%1 = conv2d(%0, out=4, padding=[2000000000])", "is above 1048576"},
      {"[5,6]", "%1 = batch_norm(%0)", "must be [N, C] or [N, C, H, W], but it is [N, 5, 6]"},
      {"[5]", "%1 = batch_norm(%0, momentum=1.5)", "momentum must lie in [0, 1], but it is 1.5"},
      {"[5]", "%1 = batch_norm(%0, eps=0.0)", "eps must lie in (0, 1]"},
      {"[5]", "%1 = layer_norm(%0, axes=2)", "cannot normalise the last 2 dimensions of [N, 5]"},
      {"[3,4,5]", "%1 = layer_norm(%0, axes=1)", "axes=3, not axes=1"},
      {"[6]", "%1 = group_norm(%0, groups=4)", "4 groups do not divide 6 channels"},
      {"[6]", "%1 = softmax(%0, axis=0)", "axis 0 of [N, 6] does not exist or is the batch"},
      {"[6]", "%1 = softmax(%0, axis=-2)", "axis -2 of [N, 6] does not exist or is the batch"},
      {"[6]", "%1 = dropout(%0, p=1.0)", "p must lie in [0, 1), but it is 1"},
      {"[2,40,40]", "%1 = max_pool2d(%0, kernel=[16])", "has at most 255 cells, but the kernel is 16x16"},
      {"[2,8,8]", "%1 = avg_pool2d(%0, kernel=[3], padding=[2])", "padding [2] is above half the kernel 3x3"},
      {"[2,2,2]", "%1 = max_pool2d(%0, kernel=[3])", "height: a kernel of 3"},
      {"[4]", "%1 = linear(%0, out=5)\n%2 = add(%0, %1)", "input 0 is [N, 4] and input 1 is [N, 5]"},
      {"[4]", "%1 = linear(%0, out=5)\n%2 = mul(%0, %1)", "input 0 is [N, 4] and input 1 is [N, 5]"},
      {"[4]", "%1 = concat(%0, %0, axis=2)", "axis 2 of [N, 4] does not exist"},
      {"[2,3,3]", "%1 = flatten(%0)\n%2 = concat(%0, %1)", "all dimensions but axis 1"},
      {"[2,3]", "%1 = reshape(%0, shape=[7])", "cannot reshape [N, 2, 3] (6 elements per sample) to [N, 7] (7)"},
      {"[2,3]", "%1 = transpose(%0, axes=[1,0,2])", "axes [1,0,2] must be a permutation of all 3 dimensions"},
      {"[2,3]", "%1 = transpose(%0, axes=[0,1,1])", "axes [0,1,1] must be a permutation of all 3 dimensions"},
      {"[2,3]", "%1 = transpose(%0, axes=[0,1,3])", "axes [0,1,3] must be a permutation of all 3 dimensions"},
      {"[2,3]", "%1 = transpose(%0, axes=[])", "axes [] must be a permutation of all 3 dimensions"},
      {"[2,3,4]", "%1 = pad(%0, pads=[1,2])", "pads must be [top,bottom,left,right], but it is [1,2]"},
      {"[3,4]", "%1 = matmul(%0, %0)", "cannot multiply [N, 3, 4] and [N, 3, 4]: 4 columns meet 3 rows"},
      {"[4]", "%1 = matmul(%0, %0)", "equal rank of at least 3"},
      {"[3,4]", "%1 = mean(%0, axes=[2,1])", "axes [2,1] must be ascending dimensions of [N, 3, 4]"},
      {"[3,4]", "%1 = mean(%0, axes=[1,1])", "axes [1,1] must be ascending dimensions"},
      {"[3,4]", "%1 = mean(%0, axes=[3])", "axes [3] must be ascending dimensions"},
      {"[3,4]", "%1 = mean(%0, axes=[])", "axes [] must be ascending dimensions"},
      {"[5]", "%1 = embedding(%0, vocab=7, dim=3)",
       "must be token numbers [N, T], from input(shape=[T], dtype=\"index\"), but it is real numbers [N, 5]"},
      {"[5,2], dtype=\"index\"", "%1 = embedding(%0, vocab=7, dim=3)", "but it is tokens [N, 5, 2]"},
      {"[5], dtype=\"index\"", "%1 = linear(%0, out=3)",
       "must be real numbers with a batch dimension, but it is class "},
      {"[5]", "%1 = positional_embedding(%0)", "must be a sequence [N, T, features], but it is [N, 5]"},
      {"[70000,2]", "%1 = positional_embedding(%0)", "a sequence of 70000 positions is too long; at most 65536"},
      {"[4,5]", "%1 = causal_mask(%0)", "must be square matrices [N, ..., T, T], but it is [N, 4, 5]"},
      {"[5,6]", "%1 = attention(%0, heads=4)", "heads=4 must divide the features, but there are 6"},
      {"[5,6]", "%1 = attention(%0, heads=2, dropout=1.0)", "dropout must lie in [0, 1), but it is 1"},
  };
  for (const Case& c : cases) {
    const auto graph = model(c.input, c.text);
    ASSERT_TRUE(graph) << graph.error().text();
    const auto types = infer_shapes(*graph, builtin_ops());
    ASSERT_FALSE(types) << c.text;
    EXPECT_EQ(types.error().code, Code::kInvalidArgument) << c.text;
    EXPECT_NE(types.error().message.find(c.shape), std::string::npos) << types.error().message;
  }
}

TEST(Operators, RefuseSizesThatOverflow) {
  const Case cases[] = {
      {"[2147483647,2]", "", "more than 2147483647 elements per sample"},
      {"[2147483647,2147483647,2147483647]", "", "more than 2147483647 elements per sample"},
      {"[100000]", "%1 = linear(%0, out=100000)", "parameter weight"},
      {"[65536,1]", "%1 = linear(%0, out=32768)", "more than 2147483647 elements per sample"},
      {"[4096,1,1]", "%1 = conv2d(%0, out=2147483647, kernel=[1])", "parameter weight"},
      {"[4096,1,1]", "%1 = depthwise_conv2d(%0, kernel=[1], multiplier=2147483647)", "is too many"},
      {"[1,1,1]", "%1 = pad(%0, pads=[2147483647,2147483647,2147483647,2147483647])", "more than 2147483647 elements"},
      {"[8,1,1]", "%1 = adaptive_avg_pool2d(%0, out=[2147483647])", "more than 2147483647 elements per sample"},
  };
  for (const Case& c : cases) {
    EXPECT_NE(shape(c.input, c.text).find(c.shape), std::string::npos) << c.text << ": " << shape(c.input, c.text);
  }
}

TEST(Operators, NameTheirParameters) {
  EXPECT_EQ(params("[64]", "%1 = linear(%0, out=10)"), "n1.weight[10, 64]/64 n1.bias[10]/64");
  EXPECT_EQ(params("[64]", "%1 = linear(%0, out=10, bias=false)"), "n1.weight[10, 64]/64");
  EXPECT_EQ(params("[4,8,8]", "%1 = conv2d(%0, out=6, kernel=[3,5], groups=2)"),
            "n1.weight[6, 2, 3, 5]/30 n1.bias[6]/30");
  EXPECT_EQ(params("[4,8,8]", "%1 = depthwise_conv2d(%0, multiplier=2)"), "n1.weight[8, 1, 3, 3]/9 n1.bias[8]/9");
  EXPECT_EQ(params("[4,8,8]", "%1 = separable_conv2d(%0, out=6)"),
            "n1.depthwise.weight[4, 1, 3, 3]/9 n1.pointwise.weight[6, 4, 1, 1]/4 n1.pointwise.bias[6]/4");
  EXPECT_EQ(params("[4,8,8]", "%1 = conv_transpose2d(%0, out=6, kernel=[3,5], groups=2)"),
            "n1.weight[4, 3, 3, 5]/45 n1.bias[6]/45");
  EXPECT_EQ(params("[4,8]", "%1 = conv1d(%0, out=6, kernel=5, groups=2)"), "n1.weight[6, 2, 5]/10 n1.bias[6]/10");
  EXPECT_EQ(params("[4,8]", "%1 = conv1d(%0, out=6, bias=false)"), "n1.weight[6, 4, 3]/12");
  EXPECT_EQ(params("[4,8,8]", "%1 = batch_norm(%0)"),
            "n1.weight[4]=1 n1.bias[4] (n1.running_mean[4]) (n1.running_var[4]=1)");
  EXPECT_EQ(params("[4]", "%1 = batch_norm(%0, affine=false)"), "(n1.running_mean[4]) (n1.running_var[4]=1)");
  EXPECT_EQ(params("[5,8]", "%1 = layer_norm(%0, axes=2)"), "n1.weight[5, 8]=1 n1.bias[5, 8]");
  EXPECT_EQ(params("[6,2,2]", "%1 = group_norm(%0, groups=3)"), "n1.weight[6]=1 n1.bias[6]");
  EXPECT_EQ(params("[5], dtype=\"index\"", "%1 = embedding(%0, vocab=7, dim=3)"), "n1.weight[7, 3]");
  EXPECT_EQ(params("[5,6]", "%1 = positional_embedding(%0)"), "n1.weight[5, 6]");
  EXPECT_EQ(params("[5,6]", "%1 = positional_embedding(%0, mode=\"sinusoidal\")"), "(n1.weight[5, 6])");
  EXPECT_EQ(params("[5,6]", "%1 = attention(%0, heads=2)"),
            "n1.in_proj_weight[18, 6]/6 n1.in_proj_bias[18] n1.out_proj.weight[6, 6]/6 n1.out_proj.bias[6]");
}

TEST(Operators, CountTwoOperationsAMultiplyAdd) {
  EXPECT_EQ(flops("[64]", "%1 = linear(%0, out=10)"), 2 * 64 * 10);
  EXPECT_EQ(flops("[5,64]", "%1 = linear(%0, out=10)"), 2 * 5 * 64 * 10);
  EXPECT_EQ(flops("[3,8,8]", "%1 = conv2d(%0, out=16, padding=[1])"), 2.0 * 3 * 9 * 16 * 64);
  EXPECT_EQ(flops("[4,8,8]", "%1 = conv2d(%0, out=4, groups=4, kernel=[1])"), 2.0 * 4 * 64);
  EXPECT_EQ(flops("[4,8,8]", "%1 = separable_conv2d(%0, out=6, padding=[1])"), 2.0 * 64 * (4 * 9 + 4 * 6));
  EXPECT_EQ(flops("[4,8]", "%1 = conv1d(%0, out=6, groups=2)"), 2.0 * 6 * 6 * 2 * 3);
  EXPECT_EQ(flops("[4,8,8]", "%1 = conv_transpose2d(%0, out=6)"), 2.0 * 4 * 64 * 6 * 9);
  EXPECT_EQ(flops("[3,4]", "%1 = matmul(%0, %0, transpose_b=true)"), 2 * 3 * 4 * 3);
}

}  // namespace
}  // namespace lanista::graph
