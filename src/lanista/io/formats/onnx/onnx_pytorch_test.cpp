// Nodes as the exporters of PyTorch write them. Their values are tested by tests/pytorch_exports/check.sh.
#include <gtest/gtest.h>

#include <cmath>

#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/io/formats/onnx/onnx_shapes.h"
#include "support/io/formats/onnx_models.h"

namespace lanista::formats {
namespace {

using onnx::List;

using test::floats;
using test::imported;
using test::integers;
using test::node;
using test::weight_values;

/// A model from "x" of this shape, batch included, to "y".
OnnxModel network(List shape, std::vector<OnnxNode> nodes, std::vector<Tensor> constants = {}) {
  return test::model_with_batch(std::move(shape), std::move(nodes), std::move(constants));
}

Tensor whole(const std::string& name, std::int64_t number) {
  Tensor tensor = integers(name, {number});
  tensor.shape.clear();
  return tensor;
}

TEST(OnnxPytorch, FollowsTheBatchThroughAttention) {
  // As in nn.MultiheadAttention: steps first, then heads merged with the batch, then one row for each step and sample.
  const std::vector<OnnxNode> nodes{node("Transpose", {"x"}, "steps", {{"perm", List{1, 0, 2}}}),
                                    node("Reshape", {"steps", "heads"}, "h"),
                                    node("Transpose", {"h"}, "q", {{"perm", List{1, 0, 2}}}),
                                    node("Transpose", {"h"}, "k", {{"perm", List{1, 2, 0}}}),
                                    node("MatMul", {"q", "k"}, "qk"),
                                    node("Softmax", {"qk"}, "s", {{"axis", std::int64_t{-1}}}),
                                    node("MatMul", {"s", "q"}, "seen"),
                                    node("Transpose", {"seen"}, "t", {{"perm", List{1, 0, 2}}}),
                                    node("Reshape", {"t", "rows"}, "r"),
                                    node("Gemm", {"r", "w"}, "g", {{"transB", std::int64_t{1}}}),
                                    node("Reshape", {"g", "back"}, "b"),
                                    node("Transpose", {"b"}, "y", {{"perm", List{1, 0, 2}}})};
  const Tensor weight = floats("w", {4, 4}, std::vector<float>(16, 1));
  const std::string expected =
      "%1 = reshape(%0, shape=[5,2,2])\n"
      "%2 = transpose(%1, axes=[0,2,1,3])\n"
      "%3 = transpose(%1, axes=[0,2,3,1])\n"
      "%4 = matmul(%2, %3)\n"
      "%5 = softmax(%4, axis=3)\n"
      "%6 = matmul(%5, %2)\n"
      "%7 = transpose(%6, axes=[0,2,1,3])\n"
      "%8 = reshape(%7, shape=[5,4])\n"
      "%9 = linear(%8, bias=false, out=4)\n";
  for (const std::int64_t batch : {1, 3}) {
    const std::vector<Tensor> sizes{integers("heads", {5, 2 * batch, 2}), integers("rows", {5 * batch, 4}),
                                    integers("back", {5, batch, 4}), weight};
    EXPECT_EQ(imported(network({batch, 5, 4}, nodes, sizes)), expected) << batch;
  }
  EXPECT_EQ(imported(network(
                {-1, 5, 4}, nodes,
                {integers("heads", {5, -1, 2}), integers("rows", {-1, 4}), integers("back", {5, -1, 4}), weight})),
            expected);
  // A product along the batch mixes samples.
  const std::string mixed = imported(network({-1, 5, 4}, {nodes[0], node("MatMul", {"steps", "steps"}, "y")}));
  EXPECT_NE(mixed.find("the batch of [5, N, 4] is a dimension of its matrices"), std::string::npos) << mixed;
}

TEST(OnnxPytorch, ReadsGroupNormThatEndsWithAShape) {
  const std::vector<OnnxNode> nodes{
      node("Reshape", {"x", "in"}, "g"), node("InstanceNormalization", {"g", "ones", "zeros"}, "n"),
      node("Shape", {"x"}, "shape"),     node("Reshape", {"n", "shape"}, "r"),
      node("Mul", {"r", "scale"}, "m"),  node("Add", {"m", "shift"}, "y")};
  for (const std::int64_t batch : {-1, 2}) {
    EXPECT_EQ(imported(network({batch, 4, 3, 3}, nodes,
                               {integers("in", {0, 2, -1}), floats("ones", {2}, {1, 1}), floats("zeros", {2}, {0, 0}),
                                floats("scale", {4, 1, 1}, {1, 2, 3, 4}), floats("shift", {4, 1, 1}, {5, 6, 7, 8})})),
              "%1 = group_norm(%0, affine=true, eps=1e-05, groups=2)\n");
  }
}

TEST(OnnxPytorch, ReadsLayerNormBeforeOpset17) {
  const auto norm = [](const List& axes, const Tensor& scale, const Tensor& shift) {
    const std::map<std::string, OnnxValue> kept{{"axes", axes}};
    return network(
        {-1, 3, 4},
        {node("ReduceMean", {"x"}, "mean", kept), node("Sub", {"x", "mean"}, "c"), node("Pow", {"c", "two"}, "square"),
         node("ReduceMean", {"square"}, "var", kept), node("Add", {"var", "eps"}, "sum"), node("Sqrt", {"sum"}, "root"),
         node("Div", {"c", "root"}, "n"), node("Mul", {"n", "scale"}, "m"), node("Add", {"m", "shift"}, "y")},
        {floats("two", {}, {2}), floats("eps", {}, {1e-5F}), scale, shift});
  };
  const OnnxModel last = norm({-1}, floats("scale", {4}, {1, 2, 3, 4}), floats("shift", {4}, {5, 6, 7, 8}));
  EXPECT_EQ(imported(last), "%1 = layer_norm(%0, affine=true, axes=1, eps=1e-05)\n");
  EXPECT_EQ(weight_values(last, 1), (std::vector<float>{5, 6, 7, 8}));
  const std::vector<float> twelve(12, 2);
  EXPECT_EQ(imported(norm({1, 2}, floats("scale", {3, 4}, twelve), floats("shift", {3, 4}, twelve))),
            "%1 = layer_norm(%0, affine=true, axes=2, eps=1e-05)\n");
  const std::string batch = imported(norm({0}, floats("scale", {4}, {1, 2, 3, 4}), floats("shift", {4}, {5, 6, 7, 8})));
  EXPECT_NE(batch.find("is that of the batch"), std::string::npos) << batch;
}

TEST(OnnxPytorch, PutsAClassTokenInFront) {
  const std::vector<OnnxNode> nodes{node("Shape", {"x"}, "s"),
                                    node("Gather", {"s", "first"}, "n"),
                                    node("Unsqueeze", {"n", "first_axis"}, "ns"),
                                    node("Concat", {"ns", "open"}, "target", {{"axis", std::int64_t{0}}}),
                                    node("Expand", {"token", "target"}, "tokens"),
                                    node("Concat", {"tokens", "x"}, "all", {{"axis", std::int64_t{1}}}),
                                    node("Gather", {"all", "first"}, "y", {{"axis", std::int64_t{1}}})};
  const OnnxModel made = network(
      {-1, 3, 2}, nodes,
      {whole("first", 0), integers("first_axis", {0}), integers("open", {1, 2}), floats("token", {1, 1, 2}, {7, 8})});
  const std::string text = imported(made);
  EXPECT_NE(text.find("positional_embedding"), std::string::npos) << text;
  EXPECT_NE(text.find("concat"), std::string::npos) << text;
  EXPECT_EQ(weight_values(made, 0), (std::vector<float>{7, 8}));
}

TEST(OnnxPytorch, CutsInStepsAndBackwards) {
  const auto sliced = [](const List& start, const List& end, const List& step) {
    return imported(
        network({-1, 7, 2}, {node("Slice", {"x", "s", "e", "axes", "steps"})},
                {integers("s", start), integers("e", end), integers("axes", {1}), integers("steps", step)}));
  };
  EXPECT_EQ(sliced({1}, {7}, {3}),
            "%1 = slice(%0, axis=1, end=5, start=1)\n"
            "%2 = reshape(%1, shape=[1,4,2])\n"
            "%3 = max_pool2d(%2, kernel=[1], stride=[3,1])\n"
            "%4 = reshape(%3, shape=[2,2])\n");
  EXPECT_EQ(sliced({1}, {-9}, {-1}),
            "%1 = slice(%0, axis=1, end=2, start=1)\n"
            "%2 = slice(%0, axis=1, end=1, start=0)\n"
            "%3 = concat(%1, %2, axis=1)\n");
  EXPECT_NE(sliced({3}, {3}, {1}).find("it selects no elements"), std::string::npos);
}

TEST(OnnxPytorch, ReadsEinsumOfMatrices) {
  const auto product = [](const std::string& equation) {
    return imported(network({-1, 3, 4}, {node("Einsum", {"x", "x"}, "y", {{"equation", equation}})}));
  };
  EXPECT_EQ(product("bij,bkj->bik"),
            "%1 = transpose(%0, axes=[0,2,1])\n"
            "%2 = matmul(%0, %1)\n");
  EXPECT_NE(product("bij,cij->bc").find("it sums over the batch"), std::string::npos) << product("bij,cij->bc");
  EXPECT_NE(product("bij,bkl->bik").find("sums a value alone"), std::string::npos);
  EXPECT_NE(product("bii,bij->bj").find("letters that occur once"), std::string::npos);
  const OnnxModel layer =
      network({-1, 3, 2}, {node("Einsum", {"w", "x"}, "y", {{"equation", std::string("oi,bti->bto")}})},
              {floats("w", {1, 2}, {5, 6})});
  EXPECT_EQ(imported(layer), "%1 = linear(%0, bias=false, out=1)\n");
  EXPECT_EQ(weight_values(layer, 0), (std::vector<float>{5, 6}));
}

TEST(OnnxPytorch, ReadsTrainingModeAsOurs) {
  Tensor training = floats("training", {}, {0});
  training.type = ElementType::kU8;
  training.bytes.assign(1, std::byte{1});
  EXPECT_EQ(imported(network({-1, 3}, {node("Dropout", {"x", "ratio", "training"})},
                             {floats("ratio", {}, {0.25F}), training})),
            "%1 = dropout(%0, p=0.25)\n");
  OnnxModel norm = network(
      {-1, 2}, {node("BatchNormalization", {"x", "g", "g", "g", "g"}, "y", {{"training_mode", std::int64_t{1}}})},
      {floats("g", {2}, {1, 1})});
  norm.nodes[0].outputs.insert(norm.nodes[0].outputs.end(), {"mean", "var"});
  EXPECT_EQ(imported(norm), "%1 = batch_norm(%0, eps=1e-05, momentum=0.1)\n");
}

TEST(OnnxPytorch, BroadcastsComputedValues) {
  EXPECT_EQ(
      imported(network({-1, 3, 4}, {node("ReduceMean", {"x"}, "m", {{"axes", List{2}}}), node("Sub", {"x", "m"})})),
      "%1 = mean(%0, axes=[2], keep=true)\n"
      "%2 = reshape(%1, shape=[3,1,1])\n"
      "%3 = upsample(%2, factor=[4,1], mode=\"nearest\")\n"
      "%4 = reshape(%3, shape=[3,4])\n"
      "%5 = sub(%0, %4)\n");
  // [N, 3] lies along other dimensions than the batch of [N, 3, 4].
  const std::string other =
      imported(network({-1, 3, 4}, {node("ReduceMean", {"x"}, "m", {{"axes", List{2}}, {"keepdims", std::int64_t{0}}}),
                                    node("Sub", {"x", "m"})}));
  EXPECT_NE(other.find("to one shape"), std::string::npos) << other;
}

TEST(OnnxPytorch, ReadsDoublesAsFloats) {
  OnnxModel made = network({-1, 2}, {node("MatMul", {"x", "w"})},
                           {test::tensor<double>("w", ElementType::kF64, {2, 1}, {0.5, 0.1})});
  made.inputs[0].type = ElementType::kF64;

  const auto read = from_onnx(made);

  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(weight_values(made, 0), (std::vector<float>{0.5F, 0.1F}));
  ASSERT_EQ(read->notices.size(), 1U);
  EXPECT_NE(read->notices[0].find("1 x constant of double precision: rounded"), std::string::npos);
  made.initializers[0] = test::tensor<double>("w", ElementType::kF64, {2, 1}, {0.5, 0.25});
  EXPECT_TRUE(from_onnx(made)->notices.empty());
}

TEST(OnnxPytorch, PreluHasASlopeForEachChannel) {
  const OnnxModel images =
      network({-1, 2, 3, 3}, {node("PRelu", {"x", "slope"})}, {floats("slope", {2, 1, 1}, {3, 4})});
  EXPECT_EQ(weight_values(images, 0), (std::vector<float>{-3, -4}));
  const OnnxModel one = network({-1, 3}, {node("PRelu", {"x", "slope"})}, {floats("slope", {1}, {2})});
  EXPECT_EQ(weight_values(one, 0), (std::vector<float>{-2, -2, -2}));
  const std::string other =
      imported(network({-1, 2, 3}, {node("PRelu", {"x", "slope"})}, {floats("slope", {3}, {1, 2, 3})}));
  EXPECT_NE(other.find("are not those of channels"), std::string::npos) << other;
}

TEST(OnnxPytorch, ChoosesByComparisonsOfFiniteValues) {
  const std::vector<Tensor> numbers{floats("c", {}, {0.5F}), floats("zero", {}, {0})};
  const auto chosen = [&](std::vector<OnnxNode> nodes) {
    return imported(network({-1, 3}, std::move(nodes), numbers));
  };
  EXPECT_EQ(chosen({node("Greater", {"x", "zero"}, "t"), node("Where", {"t", "x", "zero"})}), "%1 = relu(%0)\n");
  EXPECT_EQ(chosen({node("LessOrEqual", {"x", "c"}, "t"), node("Where", {"t", "c", "x"})}), "%1 = clip(%0, min=0.5)\n");
  const std::string hard = chosen({node("Greater", {"x", "c"}, "t"), node("Where", {"t", "x", "zero"})});
  EXPECT_NE(hard.find("shift_by(%0, by=-0.5)"), std::string::npos) << hard;
  EXPECT_NE(hard.find("clip"), std::string::npos) << hard;
  // The logarithm is not finite where it is not chosen, and zero times infinity is NaN.
  const std::string guarded =
      chosen({node("Greater", {"x", "zero"}, "t"), node("Log", {"x"}, "l"), node("Where", {"t", "l", "zero"})});
  EXPECT_NE(guarded.find("\"l\" may be infinite"), std::string::npos) << guarded;
}

TEST(OnnxPytorch, InterpolatesBetweenCorners) {
  const std::map<std::string, OnnxValue> corners{{"mode", std::string("linear")},
                                                 {"coordinate_transformation_mode", std::string("align_corners")}};
  const std::string wide = imported(
      network({1, 2, 3, 1}, {node("Resize", {"x", "", "", "sizes"}, "y", corners)}, {integers("sizes", {1, 2, 5, 1})}));
  EXPECT_EQ(wide,
            "%1 = upsample(%0, factor=[2,1], mode=\"nearest\")\n"
            "%2 = avg_pool2d(%1, kernel=[2,1], stride=[1,1])\n");
}

}  // namespace
}  // namespace lanista::formats
