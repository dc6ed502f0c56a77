#include "lanista/io/formats/onnx/onnx_export.h"

#include <gtest/gtest.h>

#include <cstring>

#include "lanista/io/formats/onnx/onnx_windows.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::formats {
namespace {

graph::Graph model(const std::string& shape, const std::string& line) {
  auto parsed = graph::parse("%0 = input(shape=[" + shape + "])\n%1 = " + line + "\n%2 = output(%1)\n");
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return *std::move(parsed);
}

std::vector<Tensor> zero_weights(const graph::Graph& graph, const graph::OpTable& ops = graph::builtin_ops()) {
  std::vector<Tensor> weights;
  const auto params = graph::parameters(graph, ops);
  for (const graph::NamedParam& param : *params) {
    Tensor tensor{.name = param.name, .type = ElementType::kF32, .shape = param.spec.shape.dims, .bytes = {}};
    tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * sizeof(float));
    weights.push_back(std::move(tensor));
  }
  return weights;
}

struct ValueText {
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(float value) const { return graph::attr_text(static_cast<double>(value)); }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<std::int64_t>& value) const { return graph::attr_text(value); }
  std::string operator()(const std::vector<float>&) const { return "floats"; }
  std::string operator()(const Tensor&) const { return "tensor"; }
};

/// The nodes, one in each line: "n1 = Gemm(input, n1.weight; transB=1)".
std::string nodes_text(const OnnxModel& model) {
  std::string text;
  for (const OnnxNode& node : model.nodes) {
    text += node.outputs.at(0) + " = " + node.op + "(";
    for (std::size_t i = 0; i < node.inputs.size(); ++i) text += (i > 0 ? ", " : "") + node.inputs[i];
    for (const auto& [name, value] : node.attributes) text += "; " + name + "=" + std::visit(ValueText{}, value);
    text += ")\n";
  }
  return text;
}

std::string exported(const std::string& shape, const std::string& line, const OnnxExport& options = {}) {
  const graph::Graph graph = model(shape, line);
  const auto onnx = to_onnx(graph, zero_weights(graph), options);
  if (!onnx) return std::string(code_name(onnx.error().code)) + ": " + onnx.error().message;
  return nodes_text(*onnx);
}

TEST(OnnxExport, MapsEveryBuiltInOperator) {
  const OnnxMappings mappings = onnx_mappings();
  for (const std::string& name : graph::builtin_ops().names()) EXPECT_TRUE(mappings.contains(name)) << name;
  EXPECT_EQ(mappings.size(), graph::builtin_ops().names().size());
}

TEST(OnnxExport, WritesOneNodeForNativeOperator) {
  const std::string end = "output = Identity(n1)\n";
  EXPECT_EQ(exported("6", "linear(%0, out=4)"), "n1 = Gemm(input, n1.weight, n1.bias; transB=1)\n" + end);
  EXPECT_EQ(exported("6", "linear(%0, out=4, bias=false)"), "n1 = Gemm(input, n1.weight; transB=1)\n" + end);
  EXPECT_EQ(exported("4,6,6", "conv2d(%0, out=8, groups=2, stride=[2,1], padding=[1,0])"),
            "n1 = Conv(input, n1.weight, n1.bias; dilations=[1,1]; group=2; kernel_shape=[3,3]; pads=[1,0,1,0]; "
            "strides=[2,1])\n" +
                end);
  EXPECT_EQ(exported("4,6,6", "depthwise_conv2d(%0, bias=false)"),
            "n1 = Conv(input, n1.weight; dilations=[1,1]; group=4; kernel_shape=[3,3]; pads=[0,0,0,0]; "
            "strides=[1,1])\n" +
                end);
  EXPECT_EQ(exported("4", "batch_norm(%0, eps=0.5, momentum=0.25)"),
            "n1 = BatchNormalization(input, n1.weight, n1.bias, n1.running_mean, n1.running_var; epsilon=0.5; "
            "momentum=0.75)\n" +
                end);
  EXPECT_EQ(exported("3,4", "layer_norm(%0, axes=2, eps=0.5)"),
            "n1 = LayerNormalization(input, n1.weight, n1.bias; axis=-2; epsilon=0.5)\n" + end);
  EXPECT_EQ(exported("3,4", "layer_norm(%0, affine=false, eps=0.5)"),
            "n1 = LayerNormalization(input, n1.ones; axis=-1; epsilon=0.5)\n" + end);
  EXPECT_EQ(exported("1,4,6", "max_pool2d(%0, kernel=[2,3])"),
            "n1 = MaxPool(input; kernel_shape=[2,3]; pads=[0,0,0,0]; strides=[2,3])\n" + end);
  EXPECT_EQ(exported("1,4,6", "avg_pool2d(%0, stride=[1], padding=[1], count_include_pad=false)"),
            "n1 = AveragePool(input; count_include_pad=0; kernel_shape=[2,2]; pads=[1,1,1,1]; strides=[1,1])\n" + end);
  EXPECT_EQ(exported("1,4,6", "mean(%0, axes=[1,3])"), "n1 = ReduceMean(input; axes=[1,3]; keepdims=0)\n" + end);
  EXPECT_EQ(exported("3", "add(%0, %0, %0)"), "n1 = Sum(input, input, input)\n" + end);
  EXPECT_EQ(exported("3", "dropout(%0)"), "n1 = Identity(input)\n" + end);
}

TEST(OnnxExport, ComposesOperatorsMissingInOpset17) {
  const std::string end = "output = Identity(n1)\n";
  EXPECT_EQ(exported("3", "gelu(%0)"),
            "n1.square = Mul(input, input)\n"
            "n1.cube = Mul(input, n1.square)\n"
            "n1.bent = Mul(n1.cube, n1.cubic)\n"
            "n1.sum = Add(input, n1.bent)\n"
            "n1.argument = Mul(n1.sum, n1.beta)\n"
            "n1.tanh = Tanh(n1.argument)\n"
            "n1.gate = Add(n1.tanh, n1.one)\n"
            "n1.gated = Mul(input, n1.gate)\n"
            "n1 = Mul(n1.gated, n1.half)\n" +
                end);
  EXPECT_EQ(exported("3", "silu(%0)"), "n1.gate = Sigmoid(input)\nn1 = Mul(input, n1.gate)\n" + end);
  EXPECT_EQ(exported("3", "zero(%0)"), "n1.shape = Shape(input)\nn1 = ConstantOfShape(n1.shape)\n" + end);
  EXPECT_EQ(exported("4,2,3", "group_norm(%0, groups=2, eps=0.5)"),
            "n1.grouped = Reshape(input, n1.grouped_shape)\n"
            "n1.normal = InstanceNormalization(n1.grouped, n1.ones, n1.zeros; epsilon=0.5)\n"
            "n1.normalized = Reshape(n1.normal, n1.back_shape)\n"
            "n1.scale = Unsqueeze(n1.weight, n1.axes)\n"
            "n1.shift = Unsqueeze(n1.bias, n1.axes)\n"
            "n1.stretched = Mul(n1.normalized, n1.scale)\n"
            "n1 = Add(n1.stretched, n1.shift)\n" +
                end);
  EXPECT_EQ(exported("3,6", "linear(%0, out=4)"),
            "n1.matrix = Transpose(n1.weight; perm=[1,0])\n"
            "n1.product = MatMul(input, n1.matrix)\n"
            "n1 = Add(n1.product, n1.bias)\n" +
                end);
  EXPECT_EQ(exported("3,6", "matmul(%0, %0, transpose_a=true)"),
            "n1.left = Transpose(input; perm=[0,2,1])\nn1 = MatMul(n1.left, input)\n" + end);
  EXPECT_EQ(exported("2,6,6", "adaptive_avg_pool2d(%0, out=[3,2])"),
            "n1 = AveragePool(input; kernel_shape=[2,3]; strides=[2,3])\n" + end);
  EXPECT_EQ(exported("2,7,6", "adaptive_avg_pool2d(%0, out=[3])"),
            "n1.narrow = MatMul(input, n1.columns)\nn1 = MatMul(n1.rows, n1.narrow)\n" + end);
}

// ONNX counts a last window that begins in the padding, lanista does not. ONNX has one ceil_mode for both axes.
TEST(OnnxExport, WritesCeilModeOnlyWhenItAddsWindow) {
  const std::string end = "output = Identity(n1)\n";
  EXPECT_EQ(exported("1,5,5", "max_pool2d(%0, kernel=[2], padding=[1], ceil_mode=true)"),
            "n1 = MaxPool(input; kernel_shape=[2,2]; pads=[1,1,1,1]; strides=[2,2])\n" + end);
  EXPECT_EQ(exported("1,4,4", "max_pool2d(%0, kernel=[2], ceil_mode=true)"),
            "n1 = MaxPool(input; kernel_shape=[2,2]; pads=[0,0,0,0]; strides=[2,2])\n" + end);
  EXPECT_EQ(exported("1,5,4", "max_pool2d(%0, kernel=[2], ceil_mode=true)"),
            "n1 = MaxPool(input; ceil_mode=1; kernel_shape=[2,2]; pads=[0,0,0,0]; strides=[2,2])\n" + end);
  EXPECT_EQ(exported("1,5,5", "avg_pool2d(%0, kernel=[2], padding=[0,0,1,1], ceil_mode=true)"),
            "n1.rows = AveragePool(input; ceil_mode=1; count_include_pad=1; kernel_shape=[2,1]; pads=[0,0,0,0]; "
            "strides=[2,1])\n"
            "n1 = AveragePool(n1.rows; count_include_pad=1; kernel_shape=[1,2]; pads=[0,1,0,1]; strides=[1,2])\n" +
                end);
  EXPECT_EQ(exported("1,5,5", "max_pool2d(%0, kernel=[2], padding=[1,1,0,0], ceil_mode=true)"),
            "n1.rows = MaxPool(input; kernel_shape=[2,1]; pads=[1,0,1,0]; strides=[2,1])\n"
            "n1 = MaxPool(n1.rows; ceil_mode=1; kernel_shape=[1,2]; pads=[0,0,0,0]; strides=[1,2])\n" +
                end);
  EXPECT_EQ(exported("1,5", "avg_pool1d(%0, kernel=2, padding=[1], ceil_mode=true)"),
            "n1 = AveragePool(input; count_include_pad=1; kernel_shape=[2]; pads=[1,1]; strides=[2])\n" + end);
  EXPECT_EQ(exported("1,5", "max_pool1d(%0, kernel=2, ceil_mode=true)"),
            "n1 = MaxPool(input; ceil_mode=1; kernel_shape=[2]; pads=[0,0]; strides=[2])\n" + end);
}

TEST(OnnxExport, AveragesOverTheWindowsOfPyTorch) {
  const float third = 1.0F / 3;
  EXPECT_EQ(onnx::window_means(5, 2, false),
            (std::vector<float>{third, third, third, 0, 0, 0, 0, third, third, third}));
  EXPECT_EQ(onnx::window_means(2, 3, true), (std::vector<float>{1, 0.5F, 0, 0, 0.5F, 1}));
}

TEST(OnnxExport, DescribesInputOutputAndMetadata) {
  const graph::Graph graph = model("3,8,8", "conv2d(%0, out=5, kernel=[8])");

  const auto onnx =
      to_onnx(graph, zero_weights(graph), {.mean = {}, .scale = {}, .graph_name = "g", .metadata = {{"a", "b"}}});

  ASSERT_TRUE(onnx.ok()) << onnx.error().message;
  EXPECT_EQ(onnx->opset, 17);
  EXPECT_EQ(onnx->ir_version, 8);
  EXPECT_EQ(onnx->producer, "lanista");
  EXPECT_EQ(onnx->graph_name, "g");
  EXPECT_EQ(onnx->metadata, (std::map<std::string, std::string>{{"a", "b"}}));
  ASSERT_EQ(onnx->inputs.size(), 1U);
  EXPECT_EQ(onnx->inputs[0].name, "input");
  EXPECT_EQ(onnx->inputs[0].shape, (std::vector<std::int64_t>{-1, 3, 8, 8}));
  ASSERT_EQ(onnx->outputs.size(), 1U);
  EXPECT_EQ(onnx->outputs[0].name, "output");
  EXPECT_EQ(onnx->outputs[0].shape, (std::vector<std::int64_t>{-1, 5, 1, 1}));
  EXPECT_EQ(onnx->initializers, zero_weights(graph));
}

TEST(OnnxExport, NormalisesRawNumbersFirst) {
  const auto normalized = [](const std::string& shape, const OnnxExport& options) {
    const graph::Graph graph = model(shape, "relu(%0)");
    return to_onnx(graph, {}, options);
  };
  const auto both = normalized("3,4,4", {.mean = {1, 2, 3}, .scale = {0.5}, .metadata = {}});
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(nodes_text(*both),
            "n0.centred = Sub(input, n0.mean)\n"
            "n0.scaled = Div(n0.centred, n0.scale)\n"
            "n1 = Relu(n0.scaled)\n"
            "output = Identity(n1)\n");
  EXPECT_EQ(both->initializers.at(0).shape, (std::vector<std::int64_t>{3, 1, 1}));
  EXPECT_EQ(both->initializers.at(1).shape, (std::vector<std::int64_t>{}));
  const auto filled = normalized("2", {.mean = {1, 2}, .scale = {}, .metadata = {}, .missing = {0, 0}});
  ASSERT_TRUE(filled.ok()) << filled.error().message;
  EXPECT_EQ(nodes_text(*filled),
            "n0.none = IsNaN(input)\n"
            "n0.filled = Where(n0.none, n0.missing, input)\n"
            "n0.centred = Sub(n0.filled, n0.mean)\n"
            "n1 = Relu(n0.centred)\n"
            "output = Identity(n1)\n");
  EXPECT_EQ(normalized("2,2", {.mean = {1, 2, 3, 4}, .scale = {}, .metadata = {}})->initializers.at(0).shape,
            (std::vector<std::int64_t>{2, 2}));
  // Floats hold a mean of 1984.3 only to 6e-5: much in a unit of 4 and nothing in one of 1e6.
  EXPECT_EQ(exported("2", "relu(%0)", {.mean = {1984.3, 1}, .scale = {4, 1}, .metadata = {}}),
            "n0.centred = Sub(input, n0.mean)\n"
            "n0.centred_to_double = Sub(n0.centred, n0.mean_rest)\n"
            "n0.scaled = Div(n0.centred_to_double, n0.scale)\n"
            "n1 = Relu(n0.scaled)\n"
            "output = Identity(n1)\n");
  EXPECT_EQ(exported("2", "relu(%0)", {.mean = {1984.3, 1}, .scale = {1e6, 1}, .metadata = {}}),
            "n0.centred = Sub(input, n0.mean)\n"
            "n0.scaled = Div(n0.centred, n0.scale)\n"
            "n1 = Relu(n0.scaled)\n"
            "output = Identity(n1)\n");
  EXPECT_EQ(exported("3", "relu(%0)", {.mean = {0, 0, 0}, .scale = {1}, .metadata = {}}),
            "n1 = Relu(input)\noutput = Identity(n1)\n");

  EXPECT_EQ(exported("3,4,4", "relu(%0)", {.mean = {1, 2}, .scale = {}, .metadata = {}}),
            "invalid_argument: onnx: the mean has 2 entries; allowed are 1, 3 (channels), 48 (features)");
  EXPECT_EQ(exported("3", "relu(%0)", {.mean = {}, .scale = {1, 2}, .metadata = {}}),
            "invalid_argument: onnx: the scale has 2 entries; allowed are 1, 3 (features)");
  EXPECT_EQ(exported("3", "relu(%0)", {.mean = {}, .scale = {1, 0, 1}, .metadata = {}}),
            "invalid_argument: onnx: a scale is 0 or not finite");
  EXPECT_EQ(exported("3", "relu(%0)", {.mean = {1.0 / 0.0}, .scale = {}, .metadata = {}}),
            "invalid_argument: onnx: a mean is not finite");
}

TEST(OnnxExport, NamesWeightOfWrongShape) {
  const graph::Graph graph = model("6", "linear(%0, out=4)");
  const auto error = [&](const auto& change) {
    std::vector<Tensor> weights = zero_weights(graph);
    change(weights);
    const auto onnx = to_onnx(graph, weights, {});
    EXPECT_FALSE(onnx.ok());
    if (onnx) return std::string();
    EXPECT_EQ(onnx.error().code, Code::kInvalidArgument);
    return onnx.error().message;
  };
  EXPECT_EQ(error([](auto& w) { w.pop_back(); }), "weight 'n1.bias' is missing");
  EXPECT_EQ(error([](auto& w) { w[0].shape = {6, 4}; }), "weight 'n1.weight' is [6, 4], the model needs [4, 6]");
  EXPECT_EQ(error([](auto& w) { w[1].type = ElementType::kI32; }), "weight 'n1.bias' holds no real numbers");
}

TEST(OnnxExport, AcceptsLaneStateAndRoundsDoubles) {
  const graph::Graph graph = model("1", "linear(%0, out=1, bias=false)");
  const double value = 0.1;
  Tensor weight{.name = "n1.weight", .type = ElementType::kF64, .shape = {1, 1}, .bytes = std::vector<std::byte>(8)};
  std::memcpy(weight.bytes.data(), &value, sizeof value);
  const Tensor step{.name = "step", .type = ElementType::kI64, .shape = {}, .bytes = std::vector<std::byte>(8)};

  const auto onnx = to_onnx(graph, std::vector<Tensor>{step, weight}, {});

  ASSERT_TRUE(onnx.ok()) << onnx.error().message;
  ASSERT_EQ(onnx->initializers.size(), 1U);
  EXPECT_EQ(elements_of<float>(onnx->initializers[0])[0], 0.1F);
}

TEST(OnnxExport, RequiresMappingForUserOperators) {
  graph::OpTable ops = graph::builtin_ops();
  graph::OpDef twice;
  twice.name = "twice";
  twice.help = "Twice its input.";
  twice.infer = graph::ops::infer_same;
  ASSERT_TRUE(ops.add(twice).ok());
  const graph::Graph graph = model("3", "twice(%0)");

  const auto refused = to_onnx(graph, {}, {}, ops);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnimplemented);
  EXPECT_EQ(refused.error().message, "onnx: operator 'twice' of node n1 has no ONNX mapping");

  OnnxMappings mappings = onnx_mappings();
  mappings["twice"] = [](OnnxWriter& w) -> Result<void> {
    w.add("Mul", {w.input(), w.scalar("two", 2)});
    return {};
  };
  const auto onnx = to_onnx(graph, {}, {}, ops, mappings);
  ASSERT_TRUE(onnx.ok()) << onnx.error().message;
  EXPECT_EQ(nodes_text(*onnx), "n1 = Mul(input, n1.two)\noutput = Identity(n1)\n");
}

TEST(OnnxExport, RefusesSecondOutput) {
  graph::OpTable ops = graph::builtin_ops();
  graph::OpDef both;
  both.name = "both";
  both.help = "Its input twice.";
  both.infer = [](const graph::OpArgs& args) -> Result<std::vector<graph::ValueType>> {
    return std::vector<graph::ValueType>{args.inputs[0], args.inputs[0]};
  };
  ASSERT_TRUE(ops.add(both).ok());
  const auto graph = graph::parse("%0 = input(shape=[3])\n%1 = both(%0)\n%2 = relu(%1.1)\n%3 = output(%2)\n");
  OnnxMappings mappings = onnx_mappings();
  mappings["both"] = mappings["identity"];

  const auto onnx = to_onnx(*graph, {}, {}, ops, mappings);

  ASSERT_FALSE(onnx.ok());
  EXPECT_EQ(onnx.error().code, Code::kUnimplemented);
  EXPECT_NE(onnx.error().message.find("node n2 reads %1.1"), std::string::npos) << onnx.error().message;
}

TEST(OnnxExport, GivesTheSameBytesForTheSameModel) {
  const graph::Graph graph = model("4,2,3", "group_norm(%0, groups=2)");
  const auto bytes = [&] { return encode_onnx(*to_onnx(graph, zero_weights(graph), {})); };

  EXPECT_EQ(bytes(), bytes());
}

}  // namespace
}  // namespace lanista::formats
