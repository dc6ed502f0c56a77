#include "support/model/autodiff/test_models.h"

#include "lanista/base/check.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"

namespace lanista::autodiff::testing {
namespace {

// From features to features: `call` reads %1 and is node %2.
std::string between_linears(const std::string& call) {
  return "%0 = input(shape=[6])\n%1 = linear(%0, out=6)\n%2 = " + call + "\n%3 = linear(%2, out=3)\n%4 = output(%3)\n";
}

std::string between_convolutions(const std::string& call) {
  return "%0 = input(shape=[2,8,8])\n%1 = conv2d(%0, out=4)\n%2 = " + call +
         "\n%3 = flatten(%2)\n%4 = linear(%3, out=3)\n%5 = output(%4)\n";
}

std::string between_sequences(const std::string& call) {
  return "%0 = input(shape=[4,5])\n%1 = linear(%0, out=6)\n%2 = " + call +
         "\n%3 = flatten(%2)\n%4 = linear(%3, out=3)\n%5 = output(%4)\n";
}

// A model that applies an operator to values above 0.
std::string of_positive(const std::string& op) {
  return "%0 = input(shape=[6])\n%1 = linear(%0, out=8)\n%2 = sigmoid(%1)\n%3 = " + op +
         "(%2)\n%4 = linear(%3, out=3)\n%5 = output(%4)\n";
}

}  // namespace

graph::Graph parsed(const std::string& text) {
  auto model = graph::parse(text);
  LANISTA_CHECK(model.ok(), model ? "" : model.error().text());
  return *std::move(model);
}

graph::Graph small_mlp() {
  return parsed(
      "%0 = input(shape=[64])\n%1 = linear(%0, out=64)\n%2 = relu(%1)\n%3 = linear(%2, out=10)\n%4 = output(%3)\n");
}

std::map<std::string, std::string> model_of_each_operator() {
  std::map<std::string, std::string> models{
      {"linear", between_sequences("linear(%1, out=7)")},
      {"matmul", between_sequences("matmul(%1, %1, transpose_a=true)")},
      {"conv2d", between_convolutions("conv2d(%1, out=6, groups=2, stride=[2], padding=[1])")},
      {"depthwise_conv2d", between_convolutions("depthwise_conv2d(%1, multiplier=2)")},
      {"separable_conv2d", between_convolutions("separable_conv2d(%1, out=5, padding=[1])")},
      {"batch_norm", between_convolutions("batch_norm(%1)")},
      {"layer_norm", between_sequences("layer_norm(%1)")},
      {"group_norm", between_convolutions("group_norm(%1, groups=2)")},
      {"zero", between_linears("zero(%1)")},
      {"softmax", between_linears("softmax(%1)")},
      {"dropout", between_linears("dropout(%1)")},
      {"max_pool2d", between_convolutions("max_pool2d(%1, kernel=[3], stride=[2], padding=[1])")},
      {"avg_pool2d", between_convolutions("avg_pool2d(%1, kernel=[2], count_include_pad=false)")},
      {"adaptive_avg_pool2d", between_convolutions("adaptive_avg_pool2d(%1, out=[2,3])")},
      {"global_avg_pool", between_convolutions("global_avg_pool(%1)")},
      {"add", between_linears("add(%1, %1, %0)")},
      {"mul", between_linears("mul(%1, %0)")},
      {"concat", between_convolutions("concat(%1, %1, axis=2)")},
      {"flatten", between_convolutions("identity(%1)")},
      {"reshape", between_sequences("reshape(%1, shape=[2,12])")},
      {"transpose", between_convolutions("transpose(%1, axes=[0,3,1,2])")},
      {"pad", between_convolutions("pad(%1, pads=[1,0,2,1])")},
      {"clip", between_linears("clip(%1, min=-0.5, max=0.5)")},
      {"sub", between_linears("sub(%0, %1)")},
      {"div", between_linears("div(%1, %0)")},
      {"slice", between_convolutions("slice(%1, axis=2, start=1, end=-2)")},
      {"channel_shuffle", between_convolutions("channel_shuffle(%1, groups=2)")},
      {"lrn", between_convolutions("lrn(%1, size=3)")},
      {"resize", between_convolutions("resize(%1, out=[3,9], mode=\"bilinear\")")},
      {"upsample", between_convolutions("upsample(%1, factor=[2])")},
      {"global_max_pool", between_convolutions("global_max_pool(%1)")},
      {"conv_transpose2d", between_convolutions("conv_transpose2d(%1, out=6, stride=[2], groups=2)")},
      {"conv1d", between_sequences("conv1d(%1, out=4, groups=2, padding=[1])")},
      {"max_pool1d", between_sequences("max_pool1d(%1)")},
      {"avg_pool1d", between_sequences("avg_pool1d(%1)")},
      {"scale",
       "%0 = input(shape=[2,8,8])\n%1 = conv2d(%0, out=4)\n%2 = global_avg_pool(%1)\n%3 = scale(%1, %2)\n"
       "%4 = flatten(%3)\n%5 = linear(%4, out=3)\n%6 = output(%5)\n"},
      {"mean", between_convolutions("mean(%1, axes=[1,3], keep=true)")},
      {"embedding",
       "%0 = input(shape=[4], dtype=\"index\")\n%1 = embedding(%0, vocab=9, dim=6)\n%2 = flatten(%1)\n"
       "%3 = linear(%2, out=3)\n%4 = output(%3)\n"},
      {"positional_embedding", between_sequences("positional_embedding(%1)")},
      {"scale_by", between_linears("scale_by(%1, by=0.5)")},
      {"shift_by", between_linears("shift_by(%1, by=0.5)")},
      {"exp", between_linears("exp(%1)")},
      {"log", of_positive("log")},
      {"sqrt", of_positive("sqrt")},
      {"causal_mask",
       "%0 = input(shape=[4,5])\n%1 = linear(%0, out=4)\n%2 = causal_mask(%1)\n%3 = flatten(%2)\n"
       "%4 = linear(%3, out=3)\n%5 = output(%4)\n"},
      {"attention", between_sequences("attention(%1, heads=2, causal=true)")},
  };
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    if (ops.find(name)->family == graph::OpFamily::kActivation) models[name] = between_linears(name + "(%1)");
  }
  return models;
}

}  // namespace lanista::autodiff::testing
