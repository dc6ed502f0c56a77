#include "support/io/formats/foreign_networks.h"

#include <cmath>
#include <numbers>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"

namespace lanista::formats::testing {
namespace {

using List = std::vector<std::int64_t>;
using Names = std::vector<std::string>;
using Attributes = std::map<std::string, OnnxValue>;

constexpr std::int64_t kClasses = 5;

std::int64_t number(std::int64_t value) { return value; }

/// Writes a file node by node; every value is called after its node.
class File {
 public:
  File(std::string name, std::int64_t opset, List input) : rng_(Rng(3).split(name)) {
    model_.graph_name = std::move(name);
    model_.opset = opset;
    model_.producer = "another tool";
    model_.inputs = {{.name = "input", .type = ElementType::kF32, .shape = std::move(input)}};
  }

  std::string add(std::string op, Names inputs, Attributes attributes = {}, std::size_t outputs = 1) {
    const std::string name = op + "_" + std::to_string(model_.nodes.size());
    OnnxNode node{.name = name, .op = std::move(op), .inputs = std::move(inputs), .outputs = {name}, .attributes = {}};
    for (std::size_t i = 1; i < outputs; ++i) node.outputs.push_back(name + "_" + std::to_string(i));
    node.attributes = std::move(attributes);
    model_.nodes.push_back(std::move(node));
    return name;
  }

  /// Normal numbers around `center`.
  std::string weight(List shape, double spread, double center = 0) {
    Tensor tensor = named(ElementType::kF32, std::move(shape));
    for (float& x : elements_of<float>(tensor)) x = static_cast<float>(center + spread * rng_.normal());
    return keep(std::move(tensor));
  }
  std::string positive(List shape) {
    Tensor tensor = named(ElementType::kF32, std::move(shape));
    for (float& x : elements_of<float>(tensor)) x = static_cast<float>(0.5 + rng_.uniform());
    return keep(std::move(tensor));
  }
  std::string scalar(double value) {
    Tensor tensor = named(ElementType::kF32, {});
    elements_of<float>(tensor)[0] = static_cast<float>(value);
    return keep(std::move(tensor));
  }
  std::string floats(const std::vector<float>& values) {
    Tensor tensor = named(ElementType::kF32, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), elements_of<float>(tensor).begin());
    return keep(std::move(tensor));
  }
  std::string integers(const List& values) {
    Tensor tensor = named(ElementType::kI64, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), elements_of<std::int64_t>(tensor).begin());
    return keep(std::move(tensor));
  }

  std::string conv(const std::string& x, const List& weight_shape, Attributes attributes, bool bias = true) {
    const double fan_in = static_cast<double>(weight_shape[1] * weight_shape[2] * weight_shape[3]);
    Names inputs{x, weight(weight_shape, 1 / std::sqrt(fan_in))};
    if (bias) inputs.push_back(weight({weight_shape[0]}, 0.1));
    return add("Conv", std::move(inputs), std::move(attributes));
  }
  std::string norm(const std::string& x, std::int64_t channels) {
    return add("BatchNormalization",
               {x, positive({channels}), weight({channels}, 0.1), weight({channels}, 0.1), positive({channels})},
               {{"epsilon", 1e-3F}});
  }
  std::string gemm(const std::string& x, std::int64_t in, std::int64_t out, Attributes attributes = {}) {
    return add("Gemm", {x, weight({in, out}, 1 / std::sqrt(static_cast<double>(in))), weight({out}, 0.1)},
               std::move(attributes));
  }

  ForeignNetwork end(const std::string& result) && {
    model_.outputs = {{.name = result, .type = ElementType::kF32, .shape = {-1, kClasses}}};
    auto imported = from_onnx(model_);
    LANISTA_CHECK(imported.ok(), imported ? "" : model_.graph_name + ": " + imported.error().message);
    std::string name = model_.graph_name;
    return {std::move(name), std::move(model_), *std::move(imported)};
  }

 private:
  Tensor named(ElementType type, List shape) {
    Tensor tensor{.name = "constant_" + std::to_string(model_.initializers.size()),
                  .type = type,
                  .shape = std::move(shape),
                  .bytes = {}};
    tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * element_size(type));
    return tensor;
  }
  std::string keep(Tensor tensor) {
    model_.initializers.push_back(std::move(tensor));
    return model_.initializers.back().name;
  }

  OnnxModel model_;
  Rng rng_;
};

ForeignNetwork plain_cnn() {
  File f("plain-cnn", 9, {1, 3, 12, 12});
  std::string x = f.conv("input", {8, 3, 3, 3}, {{"pads", List{0, 0, 1, 1}}, {"strides", List{1, 1}}});
  x = f.add("Relu", {x});
  x = f.add("LRN", {x}, {{"size", number(5)}, {"alpha", 0.01F}, {"bias", 2.0F}});
  x = f.add("MaxPool", {x}, {{"kernel_shape", List{3, 3}}, {"strides", List{2, 2}}, {"pads", List{0, 0, 1, 1}}});
  x = f.conv(x, {8, 4, 3, 3}, {{"group", number(2)}, {"pads", List{1, 1, 1, 1}}});
  x = f.add("LeakyRelu", {x}, {{"alpha", 0.1F}});
  x = f.add("AveragePool", {x}, {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}});
  x = f.add("Reshape", {x, f.integers({1, 32})});
  x = f.add("Dropout", {f.gemm(x, 32, 16)}, {{"ratio", 0.25F}}, 2);
  x = f.gemm(f.add("Relu", {x}), 16, kClasses);
  return std::move(f).end(f.add("Softmax", {x}));
}

ForeignNetwork residual() {
  File f("residual", 13, {-1, 3, 8, 8});
  const auto block = [&](const std::string& input, std::int64_t in, std::int64_t out, std::int64_t stride) {
    const Attributes window{{"pads", List{1, 1, 1, 1}}, {"strides", List{stride, stride}}};
    std::string x = f.norm(f.conv(input, {out, in, 3, 3}, window, false), out);
    x = f.add("Mul", {x, f.positive({out, 1, 1})});
    x = f.add("Relu", {f.add("Add", {f.weight({1, out, 1, 1}, 0.1), x})});
    x = f.norm(f.conv(x, {out, out, 3, 3}, {{"pads", List{1, 1, 1, 1}}}, false), out);
    const std::string skip =
        in == out && stride == 1 ? input : f.conv(input, {out, in, 1, 1}, {{"strides", List{stride, stride}}}, false);
    return f.add("Relu", {f.add("Sum", {x, skip})});
  };
  std::string x = block("input", 3, 6, 1);
  x = block(x, 6, 6, 1);
  x = block(x, 6, 12, 2);
  x = f.add("Flatten", {f.add("GlobalAveragePool", {x})}, {{"axis", number(1)}});
  return std::move(f).end(f.gemm(x, 12, kClasses));
}

ForeignNetwork mobile() {
  File f("mobile", 12, {-1, 4, 10, 10});
  const auto relu6 = [&](const std::string& x) { return f.add("Clip", {x, f.scalar(0), f.scalar(6)}); };
  std::string x = relu6(f.conv("input", {8, 4, 1, 1}, {}));
  x = relu6(f.conv(x, {8, 1, 3, 3},
                   {{"group", number(8)}, {"auto_pad", std::string("SAME_UPPER")}, {"strides", List{2, 2}}}));
  // Squeeze and excite.
  std::string gate = f.add("GlobalAveragePool", {x});
  gate = f.add("Relu", {f.conv(gate, {4, 8, 1, 1}, {})});
  gate = f.add("HardSigmoid", {f.conv(gate, {8, 4, 1, 1}, {})}, {{"alpha", 0.2F}});
  x = f.add("Mul", {x, gate});
  x = f.conv(x, {6, 8, 1, 1}, {});
  x = f.add("GlobalAveragePool", {x});
  const std::string batch = f.add("Gather", {f.add("Shape", {x}), f.integers({0})});
  x = f.add("Reshape", {x, f.add("Concat", {batch, f.integers({-1})}, {{"axis", number(0)}})});
  return std::move(f).end(f.gemm(x, 6, kClasses));
}

ForeignNetwork encoder() {
  File f("encoder", 11, {-1, 1, 16, 16});
  const std::string wide = f.add("Elu", {f.conv("input", {4, 1, 3, 3}, {{"auto_pad", std::string("SAME_LOWER")}})});
  std::string x =
      f.add("MaxPool", {wide}, {{"kernel_shape", List{3, 3}}, {"strides", List{2, 2}}, {"ceil_mode", number(1)}});
  x = f.add("Tanh", {f.conv(x, {6, 4, 3, 3}, {{"dilations", List{2, 2}}, {"pads", List{2, 2, 2, 2}}})});
  const std::string up =
      f.add("ConvTranspose", {x, f.weight({6, 4, 2, 2}, 0.3), f.weight({4}, 0.1)}, {{"strides", List{2, 2}}});
  const std::string resized = f.add("Resize", {x, "", f.floats({1, 1, 2, 2})}, {{"mode", std::string("linear")}});
  const std::string cut = f.add("Slice", {up, f.integers({0}), f.integers({16}), f.integers({2})});
  x = f.add("Concat", {wide, cut, resized}, {{"axis", number(1)}});
  x = f.add("Relu", {f.conv(x, {kClasses, 14, 3, 3}, {{"pads", List{1, 1, 1, 1}}})});
  return std::move(f).end(f.add("ReduceMean", {x}, {{"axes", List{2, 3}}, {"keepdims", number(0)}}));
}

ForeignNetwork rows() {
  File f("rows", 17, {-1, 12});
  std::string x = f.gemm("input", 12, 16, {{"alpha", 0.5F}, {"beta", 2.0F}});
  const std::string erf = f.add("Erf", {f.add("Div", {x, f.scalar(std::numbers::sqrt2)})});
  const std::string gate = f.add("Mul", {x, f.add("Add", {erf, f.scalar(1)})});
  x = f.add("Mul", {gate, f.scalar(0.5)});
  x = f.add("LayerNormalization", {x, f.positive({16}), f.weight({16}, 0.1)}, {{"axis", number(-1)}});
  x = f.add("Sub", {f.add("Mul", {x, f.positive({16})}), f.weight({16}, 0.2)});
  const std::string parts = f.add("Split", {x, f.integers({8, 8})}, {{"axis", number(1)}}, 2);
  x = f.add("Mul", {f.add("Sigmoid", {parts}), parts + "_1"});
  x = f.add("MatMul", {x, f.weight({8, kClasses}, 0.4)});
  return std::move(f).end(f.add("Add", {f.weight({kClasses}, 0.1), x}));
}

}  // namespace

std::vector<ForeignNetwork> foreign_networks() {
  std::vector<ForeignNetwork> all;
  for (auto* make : {plain_cnn, residual, mobile, encoder, rows}) all.push_back(make());
  return all;
}

}  // namespace lanista::formats::testing
