#include "lanista/io/formats/onnx/onnx_import.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lanista/base/rng.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "support/io/formats/onnx_models.h"

namespace lanista::formats {
namespace {

using List = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

using test::floats;
using test::imported;
using test::integers;
using test::node;
using test::tensor;
using test::weight_values;

/// A model "x" -> nodes -> "y".
OnnxModel model(const List& shape, std::vector<OnnxNode> nodes, std::vector<Tensor> constants = {}) {
  List with_batch{-1};
  with_batch.insert(with_batch.end(), shape.begin(), shape.end());
  return test::model_with_batch(std::move(with_batch), std::move(nodes), std::move(constants));
}

void expect_refused(const OnnxModel& model, const std::string& why, Code code = Code::kUnimplemented) {
  const auto result = from_onnx(model);
  ASSERT_FALSE(result.ok()) << why;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(why), std::string::npos) << result.error().message << " for " << why;
}

TEST(OnnxImport, ReadsEmbeddingOfTokens) {
  for (const ElementType type : {ElementType::kI64, ElementType::kI32}) {
    OnnxModel made = model({3}, {node("Gather", {"table", "x"})}, {floats("table", {2, 2}, {1, 2, 3, 4})});
    made.inputs[0].type = type;
    EXPECT_EQ(imported(made), "%1 = embedding(%0, dim=2, vocab=2)\n");
    EXPECT_EQ(weight_values(made, 0), (std::vector<float>{1, 2, 3, 4}));

    made.initializers[0].shape = {2, 2, 1};
    expect_refused(made, "its table has the shape [2, 2, 1]; read are [tokens, features]");
    made.nodes = {node("Relu", {"x"})};
    EXPECT_NE(imported(made).find("must be real numbers"), std::string::npos) << imported(made);
  }
  expect_refused(model({3}, {node("Gather", {"table", "x"})}, {floats("table", {2, 2}, {1, 2, 3, 4})}),
                 "must be token numbers", Code::kInvalidArgument);
}

TEST(OnnxImport, RenamesAndTransposesWeights) {
  const Tensor matrix = floats("w", {3, 2}, {1, 2, 3, 4, 5, 6});  // [in, out]
  const Tensor bias = floats("b", {1, 2}, {7, 8});
  const OnnxModel gemm = model({3}, {node("Gemm", {"x", "w", "b"})}, {matrix, bias});

  const auto result = from_onnx(gemm);

  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_EQ(imported(gemm), "%1 = linear(%0, bias=true, out=2)\n");
  EXPECT_EQ(result->weights,
            (std::vector<Tensor>{floats("n1.weight", {2, 3}, {1, 3, 5, 2, 4, 6}), floats("n1.bias", {2}, {7, 8})}));
  EXPECT_EQ(weight_values(model({2}, {node("Gemm", {"x", "w"}, "y", {{"transB", std::int64_t{1}}})}, {matrix}), 0),
            (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

TEST(OnnxImport, ReadsConstantProductsAsLayers) {
  const Tensor matrix = floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}), bias = floats("b", {2}, {7, 8});
  const std::vector<OnnxNode> sum{node("MatMul", {"x", "w"}, "h"), node("Add", {"b", "h"})};
  EXPECT_EQ(imported(model({4, 3}, sum, {matrix, bias})), "%1 = linear(%0, bias=true, out=2)\n");
  EXPECT_EQ(imported(model({4, 3}, {node("MatMul", {"x", "w"})}, {matrix})), "%1 = linear(%0, bias=false, out=2)\n");
  EXPECT_EQ(imported(model({4, 5, 3}, sum, {matrix, bias})),
            "%1 = reshape(%0, shape=[20,3])\n"
            "%2 = linear(%1, bias=true, out=2)\n"
            "%3 = reshape(%2, shape=[4,5,2])\n");
}

TEST(OnnxImport, FoldsConstantsIntoWeights) {
  const OnnxNode constant = node("Constant", {}, "c", {{"value", floats("", {2, 3}, {1, 2, 3, 4, 5, 6})}});
  const OnnxModel folded = model({3},
                                 {constant, node("Transpose", {"c"}, "t"), node("Identity", {"t"}, "i"),
                                  node("Reshape", {"i", "shape"}, "r"), node("MatMul", {"x", "r"})},
                                 {integers("shape", {0, -1})});
  EXPECT_EQ(imported(folded), "%1 = linear(%0, bias=false, out=2)\n");
  EXPECT_EQ(weight_values(folded, 0), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  expect_refused(model({3}, {node("Reshape", {"w", "shape"}, "r"), node("MatMul", {"x", "r"})},
                       {floats("w", {3, 2}, {1, 2, 3, 4, 5, 6}), integers("shape", {4, -1})}),
                 "cannot reshape [3, 2] to [4, -1]", Code::kInvalidArgument);
}

/// Gelu as nodes; `outer` has the products of x, 1 + tanh(...) and one half.
OnnxModel gelu_model(std::vector<OnnxNode> cube, std::vector<OnnxNode> outer, float cubic = 0.044715F) {
  std::vector<OnnxNode> nodes = std::move(cube);
  nodes.push_back(node("Mul", {"k", "cube"}, "bent"));
  nodes.push_back(node("Add", {"bent", "x"}, "sum"));
  nodes.push_back(node("Mul", {"beta", "sum"}, "u"));
  nodes.push_back(node("Tanh", {"u"}, "t"));
  nodes.push_back(node("Add", {"one", "t"}, "gate"));
  nodes.insert(nodes.end(), outer.begin(), outer.end());
  return model({5}, std::move(nodes),
               {floats("k", {}, {cubic}), floats("beta", {1}, {0.7978845834732056F}), floats("one", {}, {1}),
                floats("half", {}, {0.5F}), floats("three", {}, {3})});
}

TEST(OnnxImport, RecognisesEachFormOfGelu) {
  const std::vector<OnnxNode> power{node("Pow", {"x", "three"}, "cube")};
  const std::vector<OnnxNode> product{node("Mul", {"x", "x"}, "xx"), node("Mul", {"xx", "x"}, "cube")};
  const std::vector<OnnxNode> half_last{node("Mul", {"x", "gate"}, "g"), node("Mul", {"half", "g"})};
  const std::vector<OnnxNode> half_first{node("Mul", {"x", "half"}, "g"), node("Mul", {"g", "gate"})};
  for (const auto& cube : {power, product}) {
    for (const auto& outer : {half_last, half_first}) {
      EXPECT_EQ(imported(gelu_model(cube, outer)), "%1 = gelu(%0)\n");
    }
  }
  // Other numbers are no gelu, but the nodes are known.
  EXPECT_EQ(imported(gelu_model(power, half_last, 0.05F)).find("gelu"), std::string::npos);
  EXPECT_EQ(imported(gelu_model(power, {node("Mul", {"x", "gate"})})).find("gelu"), std::string::npos);
}

TEST(OnnxImport, RecognisesGeluBeforeConstants) {
  // The factor one half of a gelu does not belong to the scale and the shift behind it.
  const std::vector<OnnxNode> power{node("Pow", {"x", "three"}, "cube")};
  EXPECT_EQ(imported(gelu_model(power, {node("Mul", {"x", "gate"}, "g"), node("Mul", {"half", "g"}, "gelu"),
                                        node("Mul", {"gelu", "three"})})),
            "%1 = gelu(%0)\n%2 = scale_by(%1, by=3.0)\n");
  EXPECT_EQ(imported(gelu_model(power, {node("Mul", {"x", "gate"}, "g"), node("Mul", {"half", "g"}, "gelu"),
                                        node("Add", {"gelu", "three"})})),
            "%1 = gelu(%0)\n%2 = shift_by(%1, by=3.0)\n");
}

TEST(OnnxImport, RecognisesGeluOfAProduct) {
  // The value is itself a product. Its factors do not belong to gelu.
  OnnxModel gelu = gelu_model({node("Mul", {"v", "v"}, "x"), node("Pow", {"x", "three"}, "cube")},
                              {node("Mul", {"x", "half"}, "g"), node("Mul", {"g", "gate"})});
  gelu.inputs[0].name = "v";
  EXPECT_EQ(imported(gelu), "%1 = mul(%0, %0)\n%2 = gelu(%1)\n");
}

TEST(OnnxImport, RecognisesOtherGroups) {
  EXPECT_EQ(imported(model({5}, {node("Sigmoid", {"x"}, "s"), node("Mul", {"s", "x"})})), "%1 = silu(%0)\n");
  EXPECT_EQ(imported(model({2, 4, 4}, {node("GlobalAveragePool", {"x"}, "p"), node("Flatten", {"p"})})),
            "%1 = global_avg_pool(%0)\n");
  EXPECT_EQ(imported(model({2, 4, 4}, {node("GlobalAveragePool", {"x"})})), "%1 = adaptive_avg_pool2d(%0, out=[1])\n");
  EXPECT_EQ(imported(model({2, 4, 4}, {node("InstanceNormalization", {"x", "s", "b"})},
                           {floats("s", {2}, {1, 2}), floats("b", {2}, {3, 4})})),
            "%1 = group_norm(%0, eps=1e-05, groups=2)\n");
  // Groups that do not return to the shape of the input are two reshapes around other nodes.
  const std::vector<OnnxNode> grouped{node("Reshape", {"x", "in"}, "g"),
                                      node("InstanceNormalization", {"g", "s", "b"}, "n"),
                                      node("Reshape", {"n", "out"})};
  expect_refused(model({4, 2, 2}, grouped,
                       {integers("in", {0, 2, -1}), integers("out", {0, 2, 4, 2}), floats("s", {2}, {1, 1}),
                        floats("b", {2}, {0, 0})}),
                 "do not come back");
}

TEST(OnnxImport, ReadsConvolutionsAndPoolings) {
  const Tensor weight = floats("w", {4, 1, 3, 2}, std::vector<float>(24, 1));
  EXPECT_EQ(imported(model({2, 6, 6}, {node("Conv", {"x", "w"}, "y", {{"group", std::int64_t{2}}})}, {weight})),
            "%1 = depthwise_conv2d(%0, bias=false, dilation=[1], kernel=[3,2], multiplier=2, padding=[0], "
            "stride=[1])\n");
  EXPECT_EQ(imported(model({1, 6, 6}, {node("Conv", {"x", "w"}, "y", {{"pads", List{1, 0, 1, 0}}})}, {weight})),
            "%1 = conv2d(%0, bias=false, dilation=[1], groups=1, kernel=[3,2], out=4, padding=[1,0], stride=[1])\n");
  const auto pool = [](const std::string& name, const OnnxValue& value) {
    return model({1, 6, 6}, {node("MaxPool", {"x"}, "y", {{"kernel_shape", List{2, 2}}, {name, value}})});
  };
  EXPECT_EQ(imported(pool("strides", List{2, 2})), "%1 = max_pool2d(%0, kernel=[2], padding=[0])\n");
  EXPECT_EQ(imported(pool("auto_pad", std::string("SAME_UPPER"))),
            "%1 = max_pool2d(%0, kernel=[2], padding=[0,1,0,1], stride=[1])\n");
  EXPECT_EQ(imported(pool("auto_pad", std::string("SAME_LOWER"))),
            "%1 = max_pool2d(%0, kernel=[2], padding=[1,0,1,0], stride=[1])\n");
  EXPECT_EQ(imported(pool("ceil_mode", std::int64_t{1})),
            "%1 = max_pool2d(%0, ceil_mode=true, kernel=[2], padding=[0], stride=[1])\n");
  EXPECT_EQ(imported(pool("pads", List{0, 0, 1, 1})),
            "%1 = max_pool2d(%0, kernel=[2], padding=[0,1,0,1], stride=[1])\n");
  expect_refused(pool("auto_pad", std::string("SAME")), "auto_pad is \"SAME\"", Code::kDataLoss);
  expect_refused(pool("pads", List{0, 0, -1, 0}), "pads [0,0,-1,0]; read are 4 numbers from 0");
  const std::string dilated = imported(pool("dilations", List{2, 2}));
  EXPECT_TRUE(dilated.starts_with("%1 = slice(%0, axis=2, end=4, start=0)\n")) << dilated;
  EXPECT_NE(dilated.find("max_pool2d"), std::string::npos) << dilated;
  OnnxModel mean = pool("dilations", List{2, 2});
  mean.nodes[0].op = "AveragePool";
  expect_refused(mean, "dilated");
  expect_refused(pool("later", std::int64_t{0}), "the attribute \"later\" is not known here");
  expect_refused(pool("strides", std::int64_t{2}), "\"strides\" is of the wrong type", Code::kDataLoss);
  EXPECT_EQ(imported(model({1, 6}, {node("MaxPool", {"x"}, "y", {{"kernel_shape", List{2}}})})),
            "%1 = max_pool1d(%0, kernel=2, padding=[0], stride=1)\n");
  expect_refused(model({1, 6}, {node("MaxPool", {"x"}, "y", {{"kernel_shape", List{2, 2}}})}),
                 "its windows have 2 axes, its input is [N, 1, 6]", Code::kDataLoss);
}

TEST(OnnxImport, FindsTheNormalisationInFront) {
  const auto normalized = [](const List& shape, const Tensor& mean, const Tensor& scale) {
    return from_onnx(
        model(shape, {node("Sub", {"x", "m"}, "c"), node("Div", {"c", "s"}, "n"), node("Relu", {"n"})}, {mean, scale}));
  };
  const auto channels = normalized({3, 2, 2}, floats("m", {1, 3, 1, 1}, {0.1F, 0.2F, 0.3F}), floats("s", {}, {2}));
  ASSERT_TRUE(channels.ok()) << channels.error().message;
  EXPECT_EQ(channels->mean, (std::vector<double>{0.1, 0.2, 0.3}));
  EXPECT_EQ(channels->scale, (std::vector<double>{2}));
  EXPECT_EQ(channels->graph.size(), 3U);
  const auto features = normalized({2}, floats("m", {2}, {1, 2}), floats("s", {1, 2}, {3, 4}));
  ASSERT_TRUE(features.ok()) << features.error().message;
  EXPECT_EQ(features->scale, (std::vector<double>{3, 4}));

  const auto graph = graph::parse("%0 = input(shape=[2])\n%1 = relu(%0)\n%2 = output(%1)\n");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto exported = to_onnx(*graph, {}, {.mean = {1984.3, -7e5 / 3}, .scale = {4, 1}, .metadata = {}});
  ASSERT_TRUE(exported) << exported.error().text();
  const auto exact = from_onnx(*exported);
  ASSERT_TRUE(exact) << exact.error().text();
  ASSERT_EQ(exact->mean.size(), 2U);
  EXPECT_NEAR(exact->mean[0], 1984.3, 1e-9);
  EXPECT_NEAR(exact->mean[1], -7e5 / 3, 1e-8);
  EXPECT_EQ(exact->graph.size(), 3U);

  // Numbers that differ between rows, or between readers, are no normalisation.
  EXPECT_EQ(imported(model({3, 2}, {node("Sub", {"x", "m"}, "c"), node("Relu", {"c"})}, {floats("m", {2}, {1, 2})})),
            "%1 = positional_embedding(%0)\n%2 = relu(%1)\n");
  EXPECT_EQ(imported(model({2}, {node("Sub", {"x", "m"}, "c"), node("Add", {"c", "x"})}, {floats("m", {2}, {1, 2})})),
            "%1 = reshape(%0, shape=[2,1,1])\n"
            "%2 = depthwise_conv2d(%1, bias=true, kernel=[1])\n"
            "%3 = flatten(%2)\n"
            "%4 = add(%3, %0)\n");
}

TEST(OnnxImport, IgnoresUnusedNodes) {
  const OnnxModel dead = model({3}, {node("Unheard", {"x"}, "z"), node("Identity", {"x"}, "i"), node("Relu", {"i"})});
  EXPECT_EQ(imported(dead), "%1 = relu(%0)\n");
}

TEST(OnnxImport, NamesUnsupportedNode) {
  const Tensor constant = floats("k", {3}, {1, 2, 3});
  expect_refused(model({3}, {node("Erf", {"x"})}), "onnx: node \"y\" (\"Erf\"): no operator of ours does this");
  expect_refused(model({3}, {node("Clip", {"k", "x"})}, {constant}), "its input 0 is the constant \"k\"");
  expect_refused(model({3}, {node("Identity", {"k"})}, {constant}), "is the constant");
  expect_refused(model({3}, {node("Gemm", {"x", "x"})}), "its input 1 is no constant");
  expect_refused(model({3}, {node("Gemm", {"x"})}), "its input 1 is missing", Code::kDataLoss);
  expect_refused(
      model({3}, {node("Gemm", {"x", "w"})}, {tensor<std::int64_t>("w", ElementType::kI64, {3, 1}, {1, 2, 3})}),
      "\"w\" is not of type float");
  EXPECT_EQ(weight_values(
                model({3}, {node("Gemm", {"x", "w"}, "y", {{"alpha", 2.0F}})}, {floats("w", {3, 1}, {1, 2, 3})}), 0),
            (std::vector<float>{2, 4, 6}));
  expect_refused(model({3}, {node("Gemm", {"x", "w"})}, {floats("w", {2, 1}, {1, 2})}), "it must be [1, 3]",
                 Code::kDataLoss);
  expect_refused(model({3}, {node("Flatten", {"x"}, "y", {{"axis", std::int64_t{0}}})}),
                 "the output is [1, 3N]: the batch does not stay in front");
  expect_refused(model({2, 3}, {node("Transpose", {"x"}, "y", {{"perm", List{1, 0, 2}}})}),
                 "the output is [2, N, 3]: the batch does not stay in front");
  expect_refused(model({2, 3}, {node("Reshape", {"x", "s"})}, {integers("s", {6, -1})}),
                 "reshapes [N, 2, 3] to [6, -1], where the batch does not stay in front");
  EXPECT_EQ(imported(model(
                {4}, {node("BatchNormalization", {"x", "k", "k", "k", "k"}, "y", {{"training_mode", std::int64_t{1}}})},
                {floats("k", {4}, {1, 1, 1, 1})})),
            "%1 = batch_norm(%0, eps=1e-05, momentum=0.1)\n");
  OnnxModel second = model({3}, {node("MaxPool", {"x"}, "p"), node("Relu", {"i"})});
  second.nodes[0].outputs.push_back("i");
  expect_refused(second, "its output 1 is read");
}

TEST(OnnxImport, RefusesUnsupportedModels) {
  const auto changed = [](const auto& change) {
    OnnxModel made = model({3}, {node("Relu", {"x"})});
    change(made);
    return made;
  };
  EXPECT_EQ(imported(changed([](auto&) {})), "%1 = relu(%0)\n");
  expect_refused(changed([](OnnxModel& m) { m.opset = 8; }), "opset 8; read are 9 to 28");
  expect_refused(changed([](OnnxModel& m) { m.opset = 29; }), "opset 29");
  expect_refused(changed([](OnnxModel& m) { m.inputs.push_back({.name = "z", .shape = {}}); }),
                 "2 inputs and 1 outputs");
  expect_refused(changed([](OnnxModel& m) { m.outputs.clear(); }), "1 inputs and 0 outputs");
  expect_refused(changed([](OnnxModel& m) { m.inputs[0].type = ElementType::kU8; }),
                 "not of type float, double, int64 or int32");
  expect_refused(changed([](OnnxModel& m) { m.inputs[0].shape = {-1, -1}; }), "all sizes but the batch known");
  expect_refused(changed([](OnnxModel& m) { m.inputs[0].shape = {3}; }), "[N, features...]");
  expect_refused(changed([](OnnxModel& m) {
                   m.inputs[0].shape = {std::int64_t{1} << 62, 3};
                 }),
                 "has a batch of 4611686018427387904");
}

TEST(OnnxImport, LimitsSharedConstants) {
  // One matrix of 4 MB with a hundred readers would become 400 MB.
  std::vector<OnnxNode> nodes;
  std::string value = "x";
  for (int i = 0; i < 100; ++i) {
    const std::string next = i == 99 ? "y" : "v" + std::to_string(i);
    nodes.push_back(node("Gemm", {value, "w"}, next));
    value = next;
  }
  expect_refused(model({1024}, nodes, {floats("w", {1024, 1024}, std::vector<float>(1024 * 1024, 0))}),
                 "bytes more than are allowed", Code::kResourceExhausted);
}

TEST(OnnxImport, RefusesZeroNormalisation) {
  expect_refused(model({2}, {node("Div", {"x", "s"}, "c"), node("Relu", {"c"})}, {floats("s", {2}, {1, 0})}),
                 "(\"Div\")");
}

TEST(OnnxImport, HandlesCorruptedBytes) {
  const auto graph = graph::parse(
      "%0 = input(shape=[4,6,6])\n"
      "%1 = conv2d(%0, out=8, padding=[1], groups=2)\n"
      "%2 = group_norm(%1, groups=4)\n"
      "%3 = gelu(%2)\n"
      "%4 = zero(%3)\n"
      "%5 = concat(%3, %4)\n"
      "%6 = adaptive_avg_pool2d(%5, out=[4])\n"
      "%7 = pad(%6, pads=[0,1,0,1])\n"
      "%8 = avg_pool2d(%7)\n"
      "%9 = layer_norm(%8, axes=3)\n"
      "%10 = reshape(%9, shape=[16,4])\n"
      "%11 = linear(%10, out=3)\n"
      "%12 = transpose(%11, axes=[0,2,1])\n"
      "%13 = matmul(%11, %12, transpose_a=true, transpose_b=true)\n"
      "%14 = mean(%13, axes=[1])\n"
      "%15 = output(%14)\n");
  ASSERT_TRUE(graph.ok()) << graph.error().text();
  std::vector<Tensor> weights;
  const auto params = graph::parameters(*graph, graph::builtin_ops());
  ASSERT_TRUE(params.ok()) << params.error().text();
  for (const graph::NamedParam& param : *params) {
    const std::size_t elements = static_cast<std::size_t>(param.spec.shape.elements(1));
    weights.push_back(floats(param.name, param.spec.shape.dims, std::vector<float>(elements, 1)));
  }
  const auto exported = to_onnx(*graph, weights, {.mean = {1}, .scale = {2}, .metadata = {}});
  ASSERT_TRUE(exported.ok()) << exported.error().text();
  const std::string bytes = encode_onnx(*exported);

  Rng rng(9);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string bad = bytes;
    for (std::uint64_t k = 1 + rng.below(3); k-- > 0;)
      bad[rng.below(bad.size())] = static_cast<char>(rng.next() & 0xff);
    const auto decoded = decode_onnx(bad);
    if (!decoded) continue;
    const auto result = from_onnx(*decoded);
    if (result) {
      ++read;
      EXPECT_TRUE(graph::verify(result->graph, graph::builtin_ops()).ok());
    } else {
      EXPECT_EQ(result.error().message.rfind("onnx: ", 0), 0U) << result.error().message;
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 2900);
}

}  // namespace
}  // namespace lanista::formats
