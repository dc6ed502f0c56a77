// Normalisations, softmax and dropout.
#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// A norm over channels. Lanista's norms accept [N, C] and images; sequences [N, C, L] become images of one column.
Rewrite over_channels(std::string input, std::string op, Attrs attrs, std::vector<const Tensor*> params) {
  return {{std::move(input)},
          [op = std::move(op), attrs = std::move(attrs), params = std::move(params)](ModelWriter& w,
                                                                                     Ports inputs) -> Result<Port> {
            const List dims = w.dims(inputs[0]);
            std::vector<Tensor> copies;
            for (const Tensor* param : params) copies.push_back(*param);
            if (dims.size() != 3) return w.add(op, {inputs[0]}, attrs, std::move(copies));
            LANISTA_ASSIGN(const Port image, in_shape(w, inputs[0], {dims[1], dims[2], 1}));
            LANISTA_ASSIGN(const Port normal, w.add(op, {image}, attrs, std::move(copies)));
            return in_shape(w, normal, {dims[1], dims[2]});
          }};
}

RewriteResult batch_norm(const NodeReader& node_reader) {
  LANISTA_ASSIGN(const BatchNorm norm, batch_norm_of(node_reader));
  Rewrite rewrite = over_channels(norm.input, "batch_norm", norm.attrs(), norm.params);
  rewrite.emit_placed = [norm, emit = rewrite.emit](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    if (value.place.axis != 0 || file_rank(w, value) != 2 || value.place.in_front()) {
      if (!value.place.in_front()) return unsupported("its batch is not in front");
      LANISTA_ASSIGN(value.port, emit(w, std::array{value.port}));
      return value;
    }
    // [N steps, C] is an image of one column for each step.
    const List dims = w.dims(value.port), rest(dims.begin() + 1, dims.end());
    const std::int64_t channels = rest.back(), steps = product(rest) / channels;
    LANISTA_ASSIGN(Port image, in_shape(w, value.port, {steps, channels}));
    LANISTA_ASSIGN(image, w.add("transpose", {image}, {{"axes", List{0, 2, 1}}}));
    LANISTA_ASSIGN(image, in_shape(w, image, {channels, steps, 1}));
    LANISTA_ASSIGN(image, emit(w, std::array{image}));
    LANISTA_ASSIGN(image, in_shape(w, image, {channels, steps}));
    LANISTA_ASSIGN(image, w.add("transpose", {image}, {{"axes", List{0, 2, 1}}}));
    LANISTA_ASSIGN(value.port, in_shape(w, image, rest));
    return value;
  };
  return rewrite;
}

RewriteResult instance_norm(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"epsilon"}));
  LANISTA_ASSIGN(const double eps, node_reader.real("epsilon", 1e-5));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* scale, node_reader.weight(1));
  LANISTA_ASSIGN(const Tensor* shift, node_reader.weight(2));
  return over_channels(std::move(input), "group_norm", {{"eps", eps}, {"groups", scale->elements()}}, {scale, shift});
}

/// Opset 18 has one scale for each group, 21 one for each channel.
RewriteResult group_norm(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"epsilon", "num_groups", "stash_type"}));
  LANISTA_TRY(node_reader.require_value("stash_type", 1));
  if (node_reader.view().opset() < 21) return unsupported("before opset 21 it scales groups; ours scales channels");
  LANISTA_ASSIGN(const double eps, node_reader.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const std::int64_t groups, node_reader.integer("num_groups", 1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* scale, node_reader.weight(1));
  LANISTA_ASSIGN(const Tensor* shift, node_reader.weight(2));
  return over_channels(std::move(input), "group_norm", {{"eps", eps}, {"groups", groups}}, {scale, shift});
}

/// A parameter of a layer norm in the normalised dimensions: one number for each, or one for all.
Result<Tensor> norm_parameter(const Tensor& constant, const List& dims) {
  LANISTA_ASSIGN(const List shape, broadcast_shape(constant.shape, dims));
  if (shape != dims) {
    return unsupported("its constant " + in_quotes(constant.name) + " is " + graph::Shape{constant.shape}.text() +
                       ", but it normalises " + graph::Shape{dims}.text());
  }
  Tensor all{.name = constant.name, .type = ElementType::kF32, .shape = dims, .bytes = {}};
  all.bytes.resize(static_cast<std::size_t>(product(dims)) * sizeof(float));
  const auto from = elements_of<float>(constant);
  const auto to = elements_of<float>(all);
  std::size_t next = 0;
  for_each_broadcast(constant.shape, constant.shape, dims, [&](std::size_t i, std::size_t) { to[next++] = from[i]; });
  return all;
}

}  // namespace

Result<Port> normalised_rows(ModelWriter& w, Port value, std::size_t axes, double eps, const Tensor* scale,
                             const Tensor* shift) {
  const List dims = w.dims(value);
  const auto first = dims.end() - static_cast<std::ptrdiff_t>(axes);
  const List last(first, dims.end());
  // Without a bias and with a scale of ones nothing is trained.
  const bool affine = shift != nullptr || (scale != nullptr && !all_equal(*scale, 1));
  std::vector<Tensor> params;
  for (const Tensor* given : {scale, shift}) {
    if (!affine) break;
    Tensor numbers{.name = {}, .type = ElementType::kF32, .shape = last, .bytes = {}};
    if (given != nullptr) {
      LANISTA_ASSIGN(numbers, norm_parameter(*given, last));
    } else {
      LANISTA_TRY(w.check_budget(last));
      numbers.bytes.resize(static_cast<std::size_t>(product(last)) * sizeof(float));
      std::ranges::fill(elements_of<float>(numbers), params.empty() ? 1.0F : 0.0F);
    }
    params.push_back(std::move(numbers));
  }
  Attrs attrs{{"axes", static_cast<std::int64_t>(axes)}, {"eps", eps}, {"affine", affine}};
  if (dims.size() != 4 || axes == 3) return w.add("layer_norm", {value}, std::move(attrs), std::move(params));
  // The operator normalises images as a whole, but rows of sequences too.
  const std::int64_t features = product(last);
  for (Tensor& param : params) param.shape = {features};
  attrs.set("axes", std::int64_t{1});
  LANISTA_ASSIGN(const Port rows, in_shape(w, value, {product(List(dims.begin() + 1, first)), features}));
  LANISTA_ASSIGN(const Port normal, w.add("layer_norm", {rows}, std::move(attrs), std::move(params)));
  return in_shape(w, normal, List(dims.begin() + 1, dims.end()));
}

namespace {

RewriteResult layer_norm(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis", "epsilon", "stash_type"}));
  LANISTA_TRY(node_reader.require_value("stash_type", 1));
  LANISTA_ASSIGN(const double eps, node_reader.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", -1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* scale, node_reader.weight(1));
  const Tensor* shift = nullptr;
  if (node_reader.has(2)) {
    LANISTA_ASSIGN(shift, node_reader.weight(2));
  }
  return placed_rewrite({std::move(input)},
                        [eps, axis, scale, shift](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
                          LANISTA_ASSIGN(const std::size_t first, axis_of(axis, file_rank(w, inputs[0])));
                          if (first <= inputs[0].place.axis) return unsupported("it normalises over the batch");
                          const std::size_t axes = file_rank(w, inputs[0]) - first;
                          LANISTA_ASSIGN(const Port port, normalised_rows(w, inputs[0].port, axes, eps, scale, shift));
                          return PlacedPort{port, inputs[0].place};
                        });
}

/// x / sqrt(mean(x^2) + eps), times a scale.
RewriteResult rms_norm(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis", "epsilon", "stash_type"}));
  LANISTA_ASSIGN(const double eps, node_reader.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", -1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const Tensor* scale, node_reader.weight(1));
  return placed_rewrite({std::move(input)}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    const PlacedPort& x = inputs[0];
    LANISTA_ASSIGN(const std::size_t first, axis_of(axis, file_rank(w, x)));
    List axes;
    for (std::size_t i = first; i < file_rank(w, x); ++i) axes.push_back(static_cast<std::int64_t>(i));
    LANISTA_ASSIGN(const List own, port_axes(w, x, axes));
    LANISTA_ASSIGN(Port root, w.add("mul", {x.port, x.port}));
    LANISTA_ASSIGN(root, w.add("mean", {root}, {{"axes", own}, {"keep", true}}));
    LANISTA_ASSIGN(root, w.add("shift_by", {root}, {{"by", eps}}));
    LANISTA_ASSIGN(root, w.add("sqrt", {root}));
    LANISTA_ASSIGN(const auto both, placed_broadcast(w, x, {root, x.place}));
    LANISTA_ASSIGN(const Port port, w.add("div", {both.first.port, both.second.port}));
    return placed_times(w, {port, x.place}, *scale);
  });
}

/// Before opset 13 all axes from `axis` on are one row.
Result<Port> softmax_of_rows(ModelWriter& w, Port input, std::size_t axis) {
  const List dims = w.dims(input);
  List rows(dims.begin() + 1, dims.begin() + static_cast<std::ptrdiff_t>(axis));
  rows.push_back(std::accumulate(dims.begin() + static_cast<std::ptrdiff_t>(axis), dims.end(), std::int64_t{1},
                                 std::multiplies<>()));
  if (rows.back() == dims[axis]) return w.add("softmax", {input}, {{"axis", static_cast<std::int64_t>(axis)}});
  LANISTA_ASSIGN(const Port flat, in_shape(w, input, rows));
  LANISTA_ASSIGN(const Port result, w.add("softmax", {flat}));
  return in_shape(w, result, List(dims.begin() + 1, dims.end()));
}

/// A softmax, or its logarithm.
RewriteResult softmax_of(const NodeReader& node_reader, bool logarithm) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  const bool by_rows = node_reader.view().opset() < 13;
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", by_rows ? 1 : -1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return placed_rewrite({std::move(input)}, [=](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    const auto at = port_axis(w, value, axis);
    if (!at)
      return at.error().code == Code::kDataLoss ? at.error()
                                                : unsupported("its exponentials are summed over the batch");
    if (by_rows) {
      if (!value.place.in_front()) return unsupported("it is of opset 12 or less, and the batch is not in front");
      LANISTA_ASSIGN(value.port, softmax_of_rows(w, value.port, *at));
    } else {
      const bool named = value.place.in_front();
      const std::int64_t own = named ? axis : static_cast<std::int64_t>(*at);
      LANISTA_ASSIGN(value.port, w.add("softmax", {value.port}, {{"axis", own}}));
    }
    if (!logarithm) return value;
    LANISTA_ASSIGN(value.port, w.add("log", {value.port}));
    return value;
  });
}

RewriteResult softmax(const NodeReader& node_reader) { return softmax_of(node_reader, false); }
RewriteResult log_softmax(const NodeReader& node_reader) { return softmax_of(node_reader, true); }

/// Dropout returns its input in inference; the imported one trains again, also if the file has it in training mode. Up
/// to opset 11 the ratio is an attribute.
RewriteResult dropout(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"seed", "ratio"}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(double p, node_reader.real("ratio", 0.5));
  if (node_reader.has(1)) {
    LANISTA_ASSIGN(const Tensor* ratio, node_reader.weight(1));
    if (ratio->elements() != 1) return malformed("its ratio is no single number");
    p = shortest_double(elements_of<float>(*ratio).front());
  }
  if (node_reader.has(2)) {
    const Tensor* training = node_reader.view().constant(node_reader.node().inputs[2]);
    if (training == nullptr) return unsupported("whether it trains is computed");
  }
  // A ratio of 1 leaves nothing.
  return elementwise(
      single_operator({std::move(input)}, p < 1 ? "dropout" : "zero", p < 1 ? Attrs{{"p", p}} : Attrs()));
}

}  // namespace

Result<BatchNorm> batch_norm_of(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"epsilon", "momentum", "training_mode", "spatial"}));
  LANISTA_TRY(node_reader.require_value("spatial", 1));
  BatchNorm norm;
  LANISTA_ASSIGN(norm.eps, node_reader.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const double kept, node_reader.real("momentum", 0.9F));
  LANISTA_ASSIGN(norm.input, node_reader.computed_input(0));
  for (std::size_t i = 1; i <= 4; ++i) {
    LANISTA_ASSIGN(const Tensor* param, node_reader.weight(i));
    norm.params.push_back(param);
  }
  // ONNX's momentum is the share of the old statistics, lanista's is that of the batch.
  norm.momentum = shortest_double(static_cast<float>(1 - kept));
  return norm;
}

RewriteRules norm_rules() {
  return {{"BatchNormalization", {batch_norm}}, {"Dropout", {dropout}},
          {"GroupNormalization", {group_norm}}, {"InstanceNormalization", {instance_norm}},
          {"LayerNormalization", {layer_norm}}, {"LogSoftmax", {log_softmax}},
          {"RMSNormalization", {rms_norm}},     {"Softmax", {softmax}}};
}

}  // namespace lanista::formats::onnx
