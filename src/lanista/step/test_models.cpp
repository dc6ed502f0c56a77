#include "lanista/step/test_models.h"

#include "lanista/base/check.h"
#include "lanista/graph/text.h"

namespace lanista::step::testing {
namespace {

// Features in, features out: `call` reads %1 and stands as %2.
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
  return {
      {"linear", between_sequences("linear(%1, out=7)")},
      {"matmul", between_sequences("matmul(%1, %1, transpose_a=true)")},
      {"conv2d", between_convolutions("conv2d(%1, out=6, groups=2, stride=[2], padding=[1])")},
      {"depthwise_conv2d", between_convolutions("depthwise_conv2d(%1, multiplier=2)")},
      {"separable_conv2d", between_convolutions("separable_conv2d(%1, out=5, padding=[1])")},
      {"batch_norm", between_convolutions("batch_norm(%1)")},
      {"layer_norm", between_sequences("layer_norm(%1)")},
      {"group_norm", between_convolutions("group_norm(%1, groups=2)")},
      {"relu", between_linears("relu(%1)")},
      {"gelu", between_linears("gelu(%1)")},
      {"silu", between_linears("silu(%1)")},
      {"tanh", between_linears("tanh(%1)")},
      {"sigmoid", between_linears("sigmoid(%1)")},
      {"identity", between_linears("identity(%1)")},
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
      {"mean", between_convolutions("mean(%1, axes=[1,3], keep=true)")},
  };
}

}  // namespace lanista::step::testing
