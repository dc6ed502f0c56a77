#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <utility>

#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_images.h"
#include "lanista/io/formats/onnx/onnx_sequence.h"

namespace lanista::formats {

namespace {

using Attributes = OnnxWriter::Attributes;
using List = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

float real(const OnnxWriter& w, std::string_view attr) { return static_cast<float>(w.args().real(attr)); }

/// A mapping of one node with the same inputs and without attributes.
OnnxMapping same_operator(const std::string& op) {
  return [op](OnnxWriter& w) -> Result<void> {
    w.add(op, Names(w.inputs().begin(), w.inputs().end()));
    return {};
  };
}

/// A mapping of an element-wise operator by ExportForms::onnx. Its attributes are real numbers.
Result<void> elementwise(OnnxWriter& w) {
  const graph::OpDef& def = w.args().def;
  Attributes attributes;
  for (const graph::AttrSpec& attr : def.attrs) attributes[attr.name] = real(w, attr.name);
  w.add(def.exports.onnx, {w.input()}, std::move(attributes));
  return {};
}

/// Mean, scale or the numbers for missing values, as an initialiser that broadcasts over [N, features...]. Empty if it
/// would change nothing: there is none, or all are `none`.
Result<std::string> normalizer(OnnxWriter& w, std::string_view part, const std::vector<double>& values,
                               std::optional<double> none) {
  if (std::all_of(values.begin(), values.end(), [&](double v) { return v == none; })) return std::string();
  const List& features = w.args().list("shape");
  const auto count = static_cast<std::int64_t>(values.size());
  const std::int64_t elements = std::accumulate(features.begin(), features.end(), std::int64_t{1}, std::multiplies<>());
  List shape;
  if (count == elements) {
    shape = features;
  } else if (features.size() == 3 && count == features[0]) {
    shape = {count, 1, 1};
  } else if (count != 1) {
    return Error{Code::kInvalidArgument,
                 "onnx: the " + std::string(part) + " has " + std::to_string(count) + " entries; allowed are 1, " +
                     (features.size() == 3 ? std::to_string(features[0]) + " (channels), " : "") +
                     std::to_string(elements) + " (features)",
                 ""};
  }
  return w.floats(part, std::move(shape), std::vector<float>(values.begin(), values.end()));
}

/// The rounding error of floats in the means, if it matters in a feature's own unit: for a column of years, a hundredth
/// of a percent of its deviation. Empty if it does not matter.
std::vector<double> lost_means(const OnnxExport& options) {
  constexpr double kShows = 5e-7;
  std::vector<double> lost;
  bool shows = false;
  for (std::size_t i = 0; i < options.mean.size(); ++i) {
    lost.push_back(options.mean[i] - static_cast<double>(static_cast<float>(options.mean[i])));
    const double scale = options.scale.empty() ? 1 : options.scale[i % options.scale.size()];
    shows |= std::abs(lost.back()) > kShows * std::abs(scale);
  }
  return shows ? lost : std::vector<double>();
}

Result<void> input(OnnxWriter& w) {
  LANISTA_ASSIGN(const std::string mean, normalizer(w, "mean", w.options().mean, 0));
  LANISTA_ASSIGN(const std::string rest, normalizer(w, "mean_rest", lost_means(w.options()), 0));
  LANISTA_ASSIGN(const std::string scale, normalizer(w, "scale", w.options().scale, 1));
  LANISTA_ASSIGN(const std::string missing, normalizer(w, "missing", w.options().missing, std::nullopt));
  std::string value = w.input();
  if (w.args().text("dtype") == "index" && !(mean + scale + missing).empty()) {
    return Error{Code::kInvalidArgument, "onnx: token numbers take no mean and no scale", ""};
  }
  if (!missing.empty()) {
    const std::string none = w.add("IsNaN", {value}, {}, "none");
    value = w.add("Where", {none, missing, value}, {}, "filled");
  }
  if (!mean.empty()) value = w.add("Sub", {value, mean}, {}, "centred");
  if (!rest.empty()) value = w.add("Sub", {value, rest}, {}, "centred_to_double");
  if (!scale.empty()) value = w.add("Div", {value, scale}, {}, "scaled");
  w.alias(value);
  return {};
}

/// Writes the output in the unit of the targets. The sum comes last, so that readers find the product
/// (extract_targets).
Result<void> output(OnnxWriter& w) {
  const auto &mean = w.options().target_mean, &scale = w.options().target_scale;
  if (mean.empty() && scale.empty()) {
    w.add("Identity", {w.input()});
    return {};
  }
  const List features(w.dims().begin() + 1, w.dims().end());
  const std::int64_t elements = std::accumulate(features.begin(), features.end(), std::int64_t{1}, std::multiplies<>());
  if (std::ssize(mean) != elements || std::ssize(scale) != elements) {
    return Error{Code::kInvalidArgument,
                 "onnx: targets have " + std::to_string(mean.size()) + " means and " + std::to_string(scale.size()) +
                     " scales, the output has " + std::to_string(elements) + " numbers",
                 ""};
  }
  const std::string by = w.floats("target_scale", features, std::vector<float>(scale.begin(), scale.end()));
  const std::string plus = w.floats("target_mean", features, std::vector<float>(mean.begin(), mean.end()));
  w.add("Add", {w.add("Mul", {w.input(), by}, {}, "scaled"), plus});
  return {};
}

Result<void> linear(OnnxWriter& w) {
  const bool bias = w.args().flag("bias");
  if (w.dims().size() == 2) {
    Names inputs{w.input(), w.param("weight")};
    if (bias) inputs.push_back(w.param("bias"));
    w.add("Gemm", std::move(inputs), {{"transB", std::int64_t{1}}});
    return {};
  }
  const std::string weight = w.add("Transpose", {w.param("weight")}, {{"perm", List{1, 0}}}, "matrix");
  const std::string product = w.add("MatMul", {w.input(), weight}, {}, bias ? "product" : "");
  if (bias) w.add("Add", {product, w.param("bias")});
  return {};
}

Result<void> matmul(OnnxWriter& w) {
  const auto side = [&](std::size_t i, std::string_view flag, std::string_view part) {
    if (!w.args().flag(flag)) return w.input(i);
    List perm(w.dims(i).size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 2], perm.back());
    return w.add("Transpose", {w.input(i)}, {{"perm", std::move(perm)}}, part);
  };
  const std::string a = side(0, "transpose_a", "left");
  const std::string b = side(1, "transpose_b", "right");
  w.add("MatMul", {a, b});
  return {};
}

/// The trained vector, or a constant one of this shape if the norm has none.
std::string affine(OnnxWriter& w, std::string_view name, const List& shape, float value) {
  if (w.args().flag("affine")) return w.param(name);
  const std::int64_t elements = std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  return w.floats(value == 0 ? "zeros" : "ones", shape, std::vector<float>(static_cast<std::size_t>(elements), value));
}

Result<void> batch_norm(OnnxWriter& w) {
  const List channels{w.dims()[1]};
  const std::string scale = affine(w, "weight", channels, 1);
  const std::string shift = affine(w, "bias", channels, 0);
  // ONNX's momentum is the share of the old statistics, lanista's is that of the batch.
  w.add("BatchNormalization", {w.input(), scale, shift, w.param("running_mean"), w.param("running_var")},
        {{"epsilon", real(w, "eps")}, {"momentum", static_cast<float>(1 - w.args().real("momentum"))}});
  return {};
}

Result<void> layer_norm(OnnxWriter& w) {
  const std::int64_t axes = w.args().integer("axes");
  const List shape(w.dims().end() - axes, w.dims().end());
  const std::string scale = affine(w, "weight", shape, 1);
  Names inputs{w.input(), scale};
  if (w.args().flag("affine")) inputs.push_back(w.param("bias"));
  w.add("LayerNormalization", std::move(inputs), {{"axis", -axes}, {"epsilon", real(w, "eps")}});
  return {};
}

// GroupNormalization exists from opset 18 on. Here each group becomes one channel, as PyTorch exports it.
Result<void> group_norm(OnnxWriter& w) {
  const std::int64_t groups = w.args().integer("groups");
  const auto count = static_cast<std::size_t>(groups);
  List back = w.dims();
  back.front() = 0;
  const std::string ones = w.floats("ones", {groups}, std::vector<float>(count, 1));
  const std::string zeros = w.floats("zeros", {groups}, std::vector<float>(count, 0));
  const std::string grouped_shape = w.integers("grouped_shape", List{0, groups, -1});
  const std::string back_shape = w.integers("back_shape", back);

  const bool trained = w.args().flag("affine");
  const std::string grouped = w.add("Reshape", {w.input(), grouped_shape}, {}, "grouped");
  const std::string normal =
      w.add("InstanceNormalization", {grouped, ones, zeros}, {{"epsilon", real(w, "eps")}}, "normal");
  const std::string flat = w.add("Reshape", {normal, back_shape}, {}, trained ? "normalized" : "");
  if (!trained) return {};

  std::string scale = w.param("weight"), shift = w.param("bias");
  if (back.size() == 4) {
    const std::string axes = w.integers("axes", List{1, 2});
    scale = w.add("Unsqueeze", {scale, axes}, {}, "scale");
    shift = w.add("Unsqueeze", {shift, axes}, {}, "shift");
  }
  w.add("Add", {w.add("Mul", {flat, scale}, {}, "stretched"), shift});
  return {};
}

// Opset 17 has no Gelu: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
Result<void> gelu(OnnxWriter& w) {
  const std::string& x = w.input();
  const std::string cubic = w.scalar("cubic", 0.044715F), half = w.scalar("half", 0.5F), one = w.scalar("one", 1);
  const std::string beta = w.scalar("beta", static_cast<float>(std::sqrt(2 / std::numbers::pi)));
  const std::string cube = w.add("Mul", {x, w.add("Mul", {x, x}, {}, "square")}, {}, "cube");
  const std::string sum = w.add("Add", {x, w.add("Mul", {cube, cubic}, {}, "bent")}, {}, "sum");
  const std::string tanh = w.add("Tanh", {w.add("Mul", {sum, beta}, {}, "argument")}, {}, "tanh");
  const std::string gate = w.add("Add", {tanh, one}, {}, "gate");
  w.add("Mul", {w.add("Mul", {x, gate}, {}, "gated"), half});
  return {};
}

// x (1 + erf(x / sqrt(2))) / 2.
Result<void> gelu_erf(OnnxWriter& w) {
  const std::string root = w.scalar("root", static_cast<float>(std::numbers::sqrt2)), half = w.scalar("half", 0.5F);
  const std::string erf = w.add("Erf", {w.add("Div", {w.input(), root}, {}, "argument")}, {}, "erf");
  const std::string gate = w.add("Add", {erf, w.scalar("one", 1)}, {}, "gate");
  w.add("Mul", {w.add("Mul", {w.input(), gate}, {}, "gated"), half});
  return {};
}

Result<void> shift_by(OnnxWriter& w) {
  w.add("Add", {w.input(), w.scalar("by", real(w, "by"))});
  return {};
}

Result<void> silu(OnnxWriter& w) {
  w.add("Mul", {w.input(), w.add("Sigmoid", {w.input()}, {}, "gate")});
  return {};
}

// It is no product with zero, since that would keep infinities and NaN.
Result<void> zero(OnnxWriter& w) {
  w.add("ConstantOfShape", {w.add("Shape", {w.input()}, {}, "shape")});
  return {};
}

Result<void> softmax(OnnxWriter& w) {
  w.add("Softmax", {w.input()}, {{"axis", w.args().integer("axis")}});
  return {};
}

Result<void> flatten(OnnxWriter& w) {
  w.add("Flatten", {w.input()}, {{"axis", std::int64_t{1}}});
  return {};
}

Result<void> reshape(OnnxWriter& w) {
  List shape = w.args().list("shape");
  shape.insert(shape.begin(), 0);  // 0: unchanged
  w.add("Reshape", {w.input(), w.integers("shape", shape)});
  return {};
}

Result<void> transpose(OnnxWriter& w) {
  w.add("Transpose", {w.input()}, {{"perm", w.args().list("axes")}});
  return {};
}

Result<void> pad(OnnxWriter& w) {
  const List& pads = w.args().list("pads");  // top, bottom, left, right
  w.add("Pad", {w.input(), w.integers("pads", List{0, 0, pads[0], pads[2], 0, 0, pads[1], pads[3]})});
  return {};
}

Result<void> mean(OnnxWriter& w) {
  w.add("ReduceMean", {w.input()},
        {{"axes", w.args().list("axes")}, {"keepdims", std::int64_t{w.args().flag("keep")}}});
  return {};
}

Result<void> sum(OnnxWriter& w) { return same_operator(w.inputs().size() == 2 ? "Add" : "Sum")(w); }

Result<void> concat(OnnxWriter& w) {
  w.add("Concat", Names(w.inputs().begin(), w.inputs().end()), {{"axis", w.args().integer("axis")}});
  return {};
}

}  // namespace

OnnxMappings onnx_mappings() {
  OnnxMappings mappings = onnx::sequence_mappings();
  mappings.merge(onnx::window_mappings());
  mappings.merge(onnx::image_mappings());
  const graph::OpTable ops = graph::builtin_ops();
  for (const std::string& name : ops.names()) {
    if (!ops.find(name)->exports.onnx.empty()) mappings.emplace(name, elementwise);
  }
  mappings.insert({{"input", input},
                   {"output", output},
                   {"linear", linear},
                   {"matmul", matmul},
                   {"batch_norm", batch_norm},
                   {"layer_norm", layer_norm},
                   {"group_norm", group_norm},
                   {"gelu", gelu},
                   {"gelu_erf", gelu_erf},
                   {"shift_by", shift_by},
                   {"silu", silu},
                   {"identity", same_operator("Identity")},
                   {"dropout", same_operator("Identity")},
                   {"zero", zero},
                   {"softmax", softmax},
                   {"flatten", flatten},
                   {"reshape", reshape},
                   {"transpose", transpose},
                   {"pad", pad},
                   {"mean", mean},
                   {"add", sum},
                   {"sub", same_operator("Sub")},
                   {"mul", same_operator("Mul")},
                   {"div", same_operator("Div")},
                   {"concat", concat}});
  return mappings;
}

}  // namespace lanista::formats
