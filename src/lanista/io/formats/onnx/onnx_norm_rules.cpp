// Normalisations, softmax and dropout.
#include <algorithm>
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
  return over_channels(norm.input, "batch_norm", norm.attrs(), norm.params);
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
  return Rewrite{
      {std::move(input)}, [eps, axis, scale, shift](ModelWriter& w, Ports inputs) -> Result<Port> {
        const std::size_t rank = w.dims(inputs[0]).size();
        LANISTA_ASSIGN(const std::size_t first, axis_of(axis, rank));
        if (first == 0) return unsupported("it normalises over the batch");
        // Without a bias and with a scale of ones nothing is trained.
        const bool affine = shift != nullptr || !all_equal(*scale, 1);
        const Attrs attrs{{"axes", static_cast<std::int64_t>(rank - first)}, {"eps", eps}, {"affine", affine}};
        if (!affine) return w.add("layer_norm", {inputs[0]}, attrs);
        Tensor bias = shift != nullptr ? *shift : *scale;
        if (shift == nullptr) std::fill(bias.bytes.begin(), bias.bytes.end(), std::byte{0});
        return w.add("layer_norm", {inputs[0]}, attrs, {*scale, std::move(bias)});
      }};
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

RewriteResult softmax(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  const bool by_rows = node_reader.view().opset() < 13;
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", by_rows ? 1 : -1));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  return Rewrite{{std::move(input)}, [axis, by_rows](ModelWriter& w, Ports inputs) -> Result<Port> {
                   LANISTA_ASSIGN(const std::size_t axis_index, axis_of(axis, w.dims(inputs[0]).size()));
                   if (axis_index == 0) return unsupported("its exponentials are summed over the batch");
                   if (by_rows) return softmax_of_rows(w, inputs[0], axis_index);
                   return w.add("softmax", {inputs[0]}, {{"axis", axis}});
                 }};
}

/// Dropout returns its input in inference; the imported one trains again. Up to opset 11 the ratio is an attribute.
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
    const bool off = training != nullptr && training->type == ElementType::kU8 && training->elements() == 1 &&
                     training->bytes.front() == std::byte{0};
    if (!off) return unsupported("it trains, or may train; export the model for inference");
  }
  return single_operator({std::move(input)}, "dropout", {{"p", p}});
}

}  // namespace

Result<BatchNorm> batch_norm_of(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"epsilon", "momentum", "training_mode", "spatial"}));
  LANISTA_TRY(node_reader.require_value("training_mode", 0));
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
          {"LayerNormalization", {layer_norm}}, {"Softmax", {softmax}}};
}

}  // namespace lanista::formats::onnx
