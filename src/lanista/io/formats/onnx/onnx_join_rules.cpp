// Values that are joined or repeated, and constants for each sample.
#include <algorithm>
#include <cstring>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

constexpr std::int64_t kMaxTiles = 64;  // copies of a value along a dimension

/// The dimensions of a constant, if it has a batch of one or equal samples: those of one sample.
Result<Tensor> one_sample(const Tensor& constant, std::int64_t batch) {
  Tensor sample = constant;
  if (!sample.shape.empty() && batch > 1 && sample.shape.front() == batch) {
    const std::size_t bytes = sample.bytes.size() / static_cast<std::size_t>(batch);
    for (std::size_t at = bytes; at < sample.bytes.size(); at += bytes) {
      if (std::memcmp(sample.bytes.data(), sample.bytes.data() + at, bytes) != 0) {
        return unsupported("its constant " + in_quotes(constant.name) + " differs between samples");
      }
    }
    sample.bytes.resize(bytes);
    sample.shape.front() = 1;
  }
  if (sample.type != ElementType::kF32 || sample.shape.size() < 2 || sample.shape.front() != 1) {
    return unsupported("its constant " + in_quotes(constant.name) + " is " + graph::Shape{constant.shape}.text() +
                       "; read are those of one sample");
  }
  return sample;
}

/// The constant of one sample as a value for each sample, with the batch of `like`: zeros plus trained numbers.
Result<Port> constant_port(ModelWriter& w, const Tensor& sample, Port like) {
  const List rest(sample.shape.begin() + 1, sample.shape.end());
  const std::int64_t elements = product(rest), available = product(List(w.dims(like).begin() + 1, w.dims(like).end()));
  LANISTA_TRY(w.check_budget(rest));
  LANISTA_ASSIGN(Port zeros, in_shape(w, like, {1, available}));
  LANISTA_ASSIGN(zeros, w.add("slice", {zeros}, {{"axis", std::int64_t{2}}, {"end", std::int64_t{1}}}));
  LANISTA_ASSIGN(zeros, w.add("zero", {zeros}));
  LANISTA_ASSIGN(zeros, repeated(w, zeros, 2, elements));
  Tensor numbers = sample;
  numbers.shape = {1, elements};
  LANISTA_ASSIGN(const Port port, w.add("positional_embedding", {zeros}, {}, {std::move(numbers)}));
  return in_shape(w, port, rest);
}

RewriteResult concat(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  LANISTA_ASSIGN(const std::int64_t axis, node_reader.integer("axis", 0));
  const OnnxView& view = node_reader.view();
  std::vector<std::string> input_values;
  std::vector<const Tensor*> constants;  // null: a computed value
  for (const std::string& name : node_reader.node().inputs) {
    const Tensor* constant = view.constant(name);
    constants.push_back(constant);
    if (constant == nullptr) input_values.push_back(name);
  }
  if (input_values.empty()) return malformed("it has no inputs");
  return placed_rewrite(
      std::move(input_values), [axis, constants](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
        const auto at = port_axis(w, inputs[0], axis);
        if (!at) return at.error().code == Code::kUnimplemented ? unsupported("it joins batches") : at.error();
        std::vector<Port> parts;
        std::size_t next = 0;
        for (const Tensor* constant : constants) {
          if (constant == nullptr) {
            if (!(inputs[next].place == inputs[0].place)) return unsupported("its batches are not the same dimension");
            parts.push_back(inputs[next++].port);
            continue;
          }
          if (!inputs[0].place.in_front()) return unsupported("it joins a constant, and the batch is not in front");
          LANISTA_ASSIGN(const Tensor sample, one_sample(*constant, w.batch()));
          if (sample.shape.size() != w.dims(inputs[0].port).size()) return malformed("its inputs do not fit");
          LANISTA_ASSIGN(const Port port, constant_port(w, sample, inputs[0].port));
          parts.push_back(port);
        }
        if (parts.size() == 1) return inputs[0];
        LANISTA_ASSIGN(const Port port, w.add("concat", std::move(parts), {{"axis", static_cast<std::int64_t>(*at)}}));
        return PlacedPort{port, inputs[0].place};
      });
}

/// A constant for each sample, such as the token of a class.
RewriteResult expanded_constant(const NodeReader& node_reader, const Tensor& constant) {
  LANISTA_ASSIGN(const List target, node_reader.shape_integers(1));
  return Rewrite{{node_reader.view().source()}, [&constant, target](ModelWriter& w, Ports inputs) -> Result<Port> {
                   LANISTA_ASSIGN(const Tensor sample, one_sample(constant, w.batch()));
                   List dims = sample.shape;
                   dims.front() = w.batch() > 0 ? w.batch() : kUnknownBatch;
                   if (target.size() != dims.size()) return unsupported("it expands to " + sizes_text(target));
                   for (std::size_t i = 0; i < dims.size(); ++i) {
                     if (target[i] == dims[i] || (i > 0 && target[i] == 1)) continue;
                     return unsupported("it expands to " + sizes_text(target));
                   }
                   return constant_port(w, sample, inputs[0]);
                 }};
}

/// A value that is stretched along dimensions of size 1.
RewriteResult expand(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  if (node_reader.has(0)) {
    const Tensor* constant = node_reader.view().constant(node_reader.node().inputs[0]);
    if (constant != nullptr) return expanded_constant(node_reader, *constant);
  }
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const List target, node_reader.shape_integers(1));
  return placed_rewrite({std::move(input)}, [target](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    if (const std::size_t rank = file_rank(w, value); target.size() > rank) {
      List axes;
      while (axes.size() + rank < target.size()) axes.push_back(static_cast<std::int64_t>(axes.size()));
      LANISTA_ASSIGN(value, placed_unsqueeze(w, value, axes));
    }
    const List dims = file_dims(w, value);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::size_t axis = dims.size() - target.size() + i;
      if (target[i] == 1 || target[i] == dims[axis]) continue;
      if (dims[axis] != 1 || target[i] < 1) {
        return unsupported("it stretches " + sizes_text(dims) + " to " + sizes_text(target));
      }
      LANISTA_ASSIGN(const std::size_t at, port_axis(w, value, static_cast<std::int64_t>(axis)));
      LANISTA_ASSIGN(value.port, repeated(w, value.port, at, target[i]));
    }
    return value;
  });
}

/// Copies of a value along its dimensions.
RewriteResult tile(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({}));
  LANISTA_ASSIGN(std::string input, node_reader.computed_input(0));
  LANISTA_ASSIGN(const List times, node_reader.shape_integers(1));
  return placed_rewrite({std::move(input)}, [times](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
    PlacedPort value = inputs[0];
    if (times.size() != file_rank(w, value)) return malformed("its repeats are not one for each dimension");
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] == 1) continue;
      LANISTA_ASSIGN(const std::size_t at, port_axis(w, value, static_cast<std::int64_t>(i)));
      if (times[i] < 1 || times[i] > kMaxTiles) return unsupported("it repeats " + std::to_string(times[i]) + " times");
      const std::vector<Port> copies(static_cast<std::size_t>(times[i]), value.port);
      LANISTA_ASSIGN(value.port, w.add("concat", copies, {{"axis", static_cast<std::int64_t>(at)}}));
    }
    return value;
  });
}

/// Zeros in the shape of a value.
RewriteResult constant_of_shape(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"value"}));
  const auto value = node_reader.node().attributes.find("value");
  if (value != node_reader.node().attributes.end()) {
    const Tensor* tensor = std::get_if<Tensor>(&value->second);
    if (tensor == nullptr || tensor->type != ElementType::kF32 || !all_equal(*tensor, 0)) {
      return unsupported("its value is not 0");
    }
  }
  LANISTA_ASSIGN(const std::string shape, node_reader.computed_input(0));
  const OnnxNode* of = node_reader.view().producer(shape, "Shape");
  if (of == nullptr || !of->attributes.empty() || of->inputs.size() != 1) {
    return unsupported("its shape is not that of a value");
  }
  return single_operator({of->inputs.front()}, "zero");
}

}  // namespace

RewriteRules join_rules() {
  return {{"Concat", {concat}}, {"ConstantOfShape", {constant_of_shape}}, {"Expand", {expand}}, {"Tile", {tile}}};
}

}  // namespace lanista::formats::onnx
