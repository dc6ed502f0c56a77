#include "lanista/formats/onnx_rules.h"

#include <algorithm>
#include <utility>

#include "lanista/formats/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

using graph::Attrs;
using graph::Port;
using Ports = std::span<const Port>;
using Planned = Result<Plan>;

/// One of our operators on these values, with attributes and parameters that are known by now.
Plan direct(std::vector<std::string> reads, std::string op, Attrs attrs = {}, std::vector<const Tensor*> params = {}) {
  return Plan{std::move(reads),
              [op = std::move(op), attrs = std::move(attrs), params = std::move(params)](ModelWriter& w, Ports inputs) {
                std::vector<Tensor> copies;
                for (const Tensor* param : params) copies.push_back(*param);
                return w.add(op, {inputs.begin(), inputs.end()}, attrs, std::move(copies));
              }};
}

/// The same operator under another name, all inputs computed.
Rule plain(const std::string& op) {
  return [op](const Site& site) -> Planned {
    LANISTA_TRY(site.only({}));
    LANISTA_ASSIGN(auto reads, site.all_data());
    return direct(std::move(reads), op);
  };
}

Planned same(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return Plan{{std::move(input)}, [](ModelWriter&, Ports inputs) -> Result<Port> { return inputs.front(); }};
}

Planned dropout(const Site& site) {
  LANISTA_TRY(site.only({"seed"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  double p = 0.5;
  if (site.has(1)) {
    LANISTA_ASSIGN(const Tensor* ratio, site.weight(1));
    if (ratio->elements() != 1) return broken("its ratio is no single number");
    p = widened(elements_of<float>(*ratio).front());
  }
  if (site.has(2)) return refused("it says whether it trains; export the model for inference");
  return direct({std::move(input)}, "dropout", {{"p", p}});
}

Planned gemm(const Site& site) {
  LANISTA_TRY(site.only({"alpha", "beta", "transA", "transB"}));
  LANISTA_TRY(site.must_be("transA", 0));
  LANISTA_ASSIGN(const double alpha, site.real("alpha", 1));
  LANISTA_ASSIGN(const double beta, site.real("beta", 1));
  if (alpha != 1 || beta != 1) return refused("alpha or beta is not 1");
  LANISTA_ASSIGN(const std::int64_t turned, site.integer("transB", 0));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const Tensor* matrix, site.weight(1));
  const Tensor* bias = nullptr;
  if (site.has(2)) {
    LANISTA_ASSIGN(bias, site.weight(2));
  }
  return linear_plan(std::move(input), *matrix, turned != 0, bias);
}

Planned matmul(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string a, site.data(0));
  if (site.has(1) && site.view().constant(site.node().inputs[1]) != nullptr) {
    LANISTA_ASSIGN(const Tensor* matrix, site.weight(1));
    return linear_plan(std::move(a), *matrix, false, nullptr);
  }
  LANISTA_ASSIGN(std::string b, site.data(1));
  return direct({std::move(a), std::move(b)}, "matmul");
}

/// Kernel, stride and padding of a window that our operators can have.
Result<Attrs> window(const Site& site, const List& kernel) {
  LANISTA_ASSIGN(const std::string auto_pad, site.text("auto_pad", "NOTSET"));
  LANISTA_ASSIGN(const List strides, site.list("strides", {1, 1}));
  LANISTA_ASSIGN(const List pads, site.list("pads", {0, 0, 0, 0}));
  if (auto_pad != "NOTSET") return refused("auto_pad is " + shown(auto_pad) + "; read is NOTSET");
  if (kernel.size() != 2 || strides.size() != 2 || pads.size() != 4) return refused("only images have two dimensions");
  if (pads[0] != pads[2] || pads[1] != pads[3]) {
    return refused("pads " + graph::attr_text(pads) + " are not the same on both sides");
  }
  return Attrs{{"kernel", one_or_two(kernel[0], kernel[1])},
               {"stride", one_or_two(strides[0], strides[1])},
               {"padding", one_or_two(pads[0], pads[1])}};
}

Planned conv(const Site& site) {
  LANISTA_TRY(site.only({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const Tensor* weight, site.weight(1));
  std::vector<const Tensor*> params{weight};
  if (site.has(2)) {
    LANISTA_ASSIGN(const Tensor* bias, site.weight(2));
    params.push_back(bias);
  }
  if (weight->shape.size() != 4)
    return refused("its weight is " + graph::Shape{weight->shape}.text() + "; read are images");
  LANISTA_ASSIGN(const List kernel, site.list("kernel_shape", {weight->shape[2], weight->shape[3]}));
  LANISTA_ASSIGN(Attrs attrs, window(site, kernel));
  LANISTA_ASSIGN(const List dilations, site.list("dilations", {1, 1}));
  LANISTA_ASSIGN(const std::int64_t groups, site.integer("group", 1));
  if (dilations.size() != 2) return refused("only images have two dimensions");
  attrs.set("dilation", one_or_two(dilations[0], dilations[1]));
  attrs.set("bias", params.size() == 2);
  const std::int64_t out = weight->shape[0];
  // One input channel a group: each channel has its own window.
  if (groups > 1 && weight->shape[1] == 1 && out % groups == 0) {
    attrs.set("multiplier", out / groups);
    return direct({std::move(input)}, "depthwise_conv2d", std::move(attrs), std::move(params));
  }
  attrs.set("out", out);
  attrs.set("groups", groups);
  return direct({std::move(input)}, "conv2d", std::move(attrs), std::move(params));
}

Planned batch_norm(const Site& site) {
  LANISTA_TRY(site.only({"epsilon", "momentum", "training_mode"}));
  LANISTA_TRY(site.must_be("training_mode", 0));
  LANISTA_ASSIGN(const double eps, site.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const double kept, site.real("momentum", 0.9F));
  LANISTA_ASSIGN(std::string input, site.data(0));
  std::vector<const Tensor*> params;
  for (std::size_t i = 1; i <= 4; ++i) {
    LANISTA_ASSIGN(const Tensor* param, site.weight(i));
    params.push_back(param);
  }
  // ONNX's momentum is the share of the old statistics, ours that of the batch.
  const double momentum = widened(static_cast<float>(1 - kept));
  return direct({std::move(input)}, "batch_norm", {{"eps", eps}, {"momentum", momentum}}, std::move(params));
}

Planned instance_norm(const Site& site) {
  LANISTA_TRY(site.only({"epsilon"}));
  LANISTA_ASSIGN(const double eps, site.real("epsilon", 1e-5));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const Tensor* scale, site.weight(1));
  LANISTA_ASSIGN(const Tensor* shift, site.weight(2));
  return direct({std::move(input)}, "group_norm", {{"eps", eps}, {"groups", scale->elements()}}, {scale, shift});
}

Planned layer_norm(const Site& site) {
  LANISTA_TRY(site.only({"axis", "epsilon", "stash_type"}));
  LANISTA_TRY(site.must_be("stash_type", 1));
  LANISTA_ASSIGN(const double eps, site.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const std::int64_t axis, site.integer("axis", -1));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const Tensor* scale, site.weight(1));
  const Tensor* shift = nullptr;
  if (site.has(2)) {
    LANISTA_ASSIGN(shift, site.weight(2));
  }
  return Plan{{std::move(input)}, [eps, axis, scale, shift](ModelWriter& w, Ports inputs) -> Result<Port> {
                const auto rank = static_cast<std::int64_t>(w.dims(inputs[0]).size());
                if (axis < -rank || axis >= rank) return broken("the axis " + std::to_string(axis) + " does not exist");
                const std::int64_t axes = axis < 0 ? -axis : rank - axis;
                // Without a bias and with ones for a scale nothing is trained.
                const bool affine = shift != nullptr || !all_are(*scale, 1);
                const Attrs attrs{{"axes", axes}, {"eps", eps}, {"affine", affine}};
                if (!affine) return w.add("layer_norm", {inputs[0]}, attrs);
                Tensor bias = shift != nullptr ? *shift : *scale;
                if (shift == nullptr) std::fill(bias.bytes.begin(), bias.bytes.end(), std::byte{0});
                return w.add("layer_norm", {inputs[0]}, attrs, {*scale, std::move(bias)});
              }};
}

Planned softmax(const Site& site) {
  LANISTA_TRY(site.only({"axis"}));
  LANISTA_ASSIGN(const std::int64_t axis, site.integer("axis", -1));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return direct({std::move(input)}, "softmax", {{"axis", axis}});
}

/// Zeros in the shape of a value.
Planned constant_of_shape(const Site& site) {
  LANISTA_TRY(site.only({"value"}));
  const auto value = site.node().attributes.find("value");
  if (value != site.node().attributes.end()) {
    const Tensor* tensor = std::get_if<Tensor>(&value->second);
    if (tensor == nullptr || tensor->type != ElementType::kF32 || !all_are(*tensor, 0)) {
      return refused("its value is not 0");
    }
  }
  LANISTA_ASSIGN(const std::string shape, site.data(0));
  const OnnxNode* of = site.view().maker(shape, "Shape");
  if (of == nullptr || !of->attributes.empty() || of->inputs.size() != 1) {
    return refused("its shape is not that of a value");
  }
  return direct({of->inputs.front()}, "zero");
}

/// The window of a pooling, whose stride is the kernel unless it is written.
Result<Attrs> pool_window(const Site& site) {
  LANISTA_TRY(site.must_be("ceil_mode", 0));
  LANISTA_ASSIGN(const List kernel, site.list("kernel_shape", {}));
  LANISTA_ASSIGN(Attrs attrs, window(site, kernel));
  if (*attrs.find("stride") == *attrs.find("kernel")) attrs.erase("stride");
  return attrs;
}

Planned max_pool(const Site& site) {
  LANISTA_TRY(site.only({"auto_pad", "ceil_mode", "dilations", "kernel_shape", "pads", "storage_order", "strides"}));
  LANISTA_TRY(site.must_be("storage_order", 0));
  LANISTA_ASSIGN(const List dilations, site.list("dilations", {1, 1}));
  if (dilations != List{1, 1}) return refused("its window is dilated");
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(Attrs attrs, pool_window(site));
  return direct({std::move(input)}, "max_pool2d", std::move(attrs));
}

Planned avg_pool(const Site& site) {
  LANISTA_TRY(site.only({"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"}));
  LANISTA_ASSIGN(const std::int64_t counted, site.integer("count_include_pad", 0));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(Attrs attrs, pool_window(site));
  attrs.set("count_include_pad", counted != 0);
  return direct({std::move(input)}, "avg_pool2d", std::move(attrs));
}

Planned global_avg_pool(const Site& site) {
  LANISTA_TRY(site.only({}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return direct({std::move(input)}, "adaptive_avg_pool2d", {{"out", List{1}}});
}

Planned flatten(const Site& site) {
  LANISTA_TRY(site.only({"axis"}));
  LANISTA_TRY(site.must_be("axis", 1));
  LANISTA_ASSIGN(std::string input, site.data(0));
  return direct({std::move(input)}, "flatten");
}

Planned reshape(const Site& site) {
  LANISTA_TRY(site.only({"allowzero"}));
  LANISTA_TRY(site.must_be("allowzero", 0));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(List target, site.integers(1));
  return Plan{{std::move(input)}, [target = std::move(target)](ModelWriter& w, Ports inputs) -> Result<Port> {
                LANISTA_ASSIGN(List dims, reshaped(target, w.dims(inputs[0])));
                dims.erase(dims.begin());
                return w.add("reshape", {inputs[0]}, {{"shape", std::move(dims)}});
              }};
}

Planned transpose(const Site& site) {
  LANISTA_TRY(site.only({"perm"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(List perm, site.list("perm", {}));
  if (perm.empty()) return refused("without perm it would move the batch");
  return direct({std::move(input)}, "transpose", {{"axes", std::move(perm)}});
}

Planned pad(const Site& site) {
  LANISTA_TRY(site.only({"mode"}));
  LANISTA_ASSIGN(const std::string mode, site.text("mode", "constant"));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const List pads, site.integers(1));
  if (mode != "constant" || site.has(3))
    return refused("its mode is " + shown(mode) + "; read are constants at all axes");
  if (site.has(2)) {
    LANISTA_ASSIGN(const Tensor* value, site.weight(2));
    if (!all_are(*value, 0)) return refused("it pads with something else than zeros");
  }
  if (pads.size() != 8 || pads[0] != 0 || pads[1] != 0 || pads[4] != 0 || pads[5] != 0) {
    return refused("its pads " + graph::attr_text(pads) + " are not around images alone");
  }
  return direct({std::move(input)}, "pad", {{"pads", List{pads[2], pads[6], pads[3], pads[7]}}});
}

Planned mean(const Site& site) {
  LANISTA_TRY(site.only({"axes", "keepdims"}));
  LANISTA_ASSIGN(std::string input, site.data(0));
  LANISTA_ASSIGN(const List axes, site.list("axes", {}));
  LANISTA_ASSIGN(const std::int64_t keep, site.integer("keepdims", 1));
  return Plan{{std::move(input)}, [axes, keep](ModelWriter& w, Ports inputs) {
                List own = axes;
                for (std::int64_t& axis : own) {
                  axis += axis < 0 ? static_cast<std::int64_t>(w.dims(inputs[0]).size()) : 0;
                }
                std::sort(own.begin(), own.end());
                return w.add("mean", {inputs[0]}, {{"axes", std::move(own)}, {"keep", keep != 0}});
              }};
}

Planned concat(const Site& site) {
  LANISTA_TRY(site.only({"axis"}));
  LANISTA_ASSIGN(auto reads, site.all_data());
  LANISTA_ASSIGN(const std::int64_t axis, site.integer("axis", 0));
  return Plan{std::move(reads), [axis](ModelWriter& w, Ports inputs) {
                const auto rank = static_cast<std::int64_t>(w.dims(inputs[0]).size());
                return w.add("concat", {inputs.begin(), inputs.end()}, {{"axis", axis < 0 ? axis + rank : axis}});
              }};
}

}  // namespace

Rules import_rules() {
  return {{"Add", {affine_group_norm_group, linear_group, plain("add")}},
          {"AveragePool", {avg_pool}},
          {"BatchNormalization", {batch_norm}},
          {"Concat", {concat}},
          {"ConstantOfShape", {constant_of_shape}},
          {"Conv", {conv}},
          {"Dropout", {dropout}},
          {"Flatten", {global_pool_group, flatten}},
          {"Gemm", {gemm}},
          {"GlobalAveragePool", {global_avg_pool}},
          {"Identity", {same}},
          {"InstanceNormalization", {instance_norm}},
          {"LayerNormalization", {layer_norm}},
          {"MatMul", {adaptive_pool_group, matmul}},
          {"MaxPool", {max_pool}},
          {"Mul", {silu_group, gelu_group, plain("mul")}},
          {"Pad", {pad}},
          {"ReduceMean", {mean}},
          {"Relu", {plain("relu")}},
          {"Reshape", {group_norm_group, reshape}},
          {"Sigmoid", {plain("sigmoid")}},
          {"Softmax", {softmax}},
          {"Sum", {plain("add")}},
          {"Tanh", {plain("tanh")}},
          {"Transpose", {transpose}}};
}

}  // namespace lanista::formats::onnx
