#include "lanista/io/formats/onnx/onnx_export.h"

#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/io/formats/float_weights.h"
#include "lanista/io/formats/onnx/onnx_blend.h"
#include "lanista/model/graph/text.h"

namespace lanista::formats {
namespace {

constexpr const char* kInput = "input";
constexpr const char* kOutput = "output";

Error invalid(std::string message) { return {Code::kInvalidArgument, "onnx: " + std::move(message), ""}; }

template <class T>
Tensor tensor_of(std::string name, ElementType type, std::vector<std::int64_t> shape, std::span<const T> values) {
  Tensor tensor{.name = std::move(name), .type = type, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(values.size_bytes());
  if (!values.empty()) std::memcpy(tensor.bytes.data(), values.data(), values.size_bytes());
  return tensor;
}

Result<void> check_mappings(const graph::Graph& graph, const OnnxMappings& mappings) {
  for (const auto& node : graph.nodes()) {
    if (mappings.contains(node->op)) continue;
    return Error{
        Code::kUnimplemented,
        "onnx: operator '" + node->op + "' of node n" + std::to_string(node->id.value) + " has no ONNX mapping", ""};
  }
  return {};
}

/// Checks the numbers as the file will hold them: float32.
Result<void> check_normalization(const OnnxExport& options) {
  for (const double value : options.mean) {
    if (!std::isfinite(static_cast<float>(value))) return invalid("a mean is not finite");
  }
  for (const double value : options.missing) {
    if (!std::isfinite(static_cast<float>(value))) return invalid("what stands for a missing number is not finite");
  }
  for (const double value : options.target_mean) {
    if (!std::isfinite(static_cast<float>(value))) return invalid("a mean of targets is not finite");
  }
  for (const auto* scales : {&options.scale, &options.target_scale}) {
    for (const double value : *scales) {
      const auto held = static_cast<float>(value);
      if (!std::isfinite(held) || held == 0) return invalid("a scale is 0 or not finite");
    }
  }
  return {};
}

Error second_output(const graph::Node& node, graph::Port port) {
  return {Code::kUnimplemented,
          "onnx: node n" + std::to_string(node.id.value) + " reads " + graph::port_text(port) +
              "; a mapping gives only the first output of its operator",
          ""};
}

/// A model and its form in the file.
struct ExportedModel {
  const graph::Graph& graph;
  const graph::Types& types;
  std::span<const Tensor> weights;
  std::string prefix;      ///< of all its names
  std::string normalised;  ///< value of the normalised input, if the file has it already; else empty
};

/// Adds a model and returns the name of its normalised input.
Result<std::string> add_model(const ExportedModel& one, const OnnxExport& options, const graph::OpTable& ops,
                              const OnnxMappings& mappings, OnnxModel& model) {
  const graph::Graph& graph = one.graph;
  LANISTA_ASSIGN(auto weights, float_weights(graph, ops, one.weights));
  for (Tensor& weight : weights) {
    weight.name = one.prefix + weight.name;
    model.initializers.push_back(std::move(weight));
  }
  std::map<graph::NodeId, std::string> values;
  std::string normalised = one.normalised;
  for (const graph::NodeId id : graph.topo()) {
    const graph::Node& node = graph.node(id);
    if (node.op == kInput && !one.normalised.empty()) {
      values.emplace(id, one.normalised);
      continue;
    }
    std::vector<std::string> inputs;
    inputs.reserve(node.inputs.size());
    for (const graph::Port port : node.inputs) {
      if (port.slot > 0) return second_output(node, port);
      inputs.push_back(values.at(port.node));
    }
    const auto in_types = one.types.inputs(node);
    const graph::OpArgs args{in_types, node.attrs, *ops.find(node.op)};
    OnnxWriter writer(model, options, node, args, std::move(inputs), one.prefix);
    LANISTA_TRY(mappings.find(node.op)->second(writer));
    if (node.op == kInput) normalised = writer.result();
    values.emplace(id, writer.result());
  }
  return normalised;
}

bool same_kind(std::span<const OnnxValueInfo> a, std::span<const OnnxValueInfo> b) {
  return a.front().type == b.front().type && a.front().shape == b.front().shape;
}

std::string member_name(std::size_t k) { return "member " + std::to_string(k + 1); }

OnnxValueInfo info_of(const char* name, const graph::Types& types, const graph::Graph& graph, std::string_view op) {
  const graph::ValueType& type = types.at({graph.nodes_of(op).front(), 0});
  const bool tokens = type.dtype == graph::DType::kIndex;
  return {.name = name, .type = tokens ? ElementType::kI64 : ElementType::kF32, .shape = type.shape.dims};
}

}  // namespace

OnnxWriter::OnnxWriter(OnnxModel& model, const OnnxExport& options, const graph::Node& node, const graph::OpArgs& args,
                       std::vector<std::string> inputs, const std::string& prefix)
    : model_(model),
      options_(options),
      args_(args),
      inputs_(std::move(inputs)),
      name_(prefix + "n" + std::to_string(node.id.value)) {
  if (node.op == kInput) inputs_ = {kInput};
  result_ = node.op == kOutput ? prefix + kOutput : name_;
}

std::string OnnxWriter::param(std::string_view name) const { return name_ + "." + std::string(name); }

std::string OnnxWriter::floats(std::string_view part, std::vector<std::int64_t> shape, std::span<const float> values) {
  model_.initializers.push_back(tensor_of(param(part), ElementType::kF32, std::move(shape), values));
  return model_.initializers.back().name;
}

std::string OnnxWriter::integers(std::string_view part, std::span<const std::int64_t> values) {
  const auto size = static_cast<std::int64_t>(values.size());
  model_.initializers.push_back(tensor_of(param(part), ElementType::kI64, {size}, values));
  return model_.initializers.back().name;
}

std::string OnnxWriter::integer(std::string_view part, std::int64_t value) {
  model_.initializers.push_back(tensor_of<std::int64_t>(param(part), ElementType::kI64, {}, {&value, 1}));
  return model_.initializers.back().name;
}

std::string OnnxWriter::add(std::string op, std::vector<std::string> inputs, Attributes attributes,
                            std::string_view part) {
  std::string value = part.empty() ? result_ : param(part);
  model_.nodes.push_back({.name = part.empty() ? name_ : value,
                          .op = std::move(op),
                          .inputs = std::move(inputs),
                          .outputs = {value},
                          .attributes = std::move(attributes)});
  return value;
}

Result<OnnxModel> to_onnx(const graph::Graph& graph, std::span<const Tensor> weights, const OnnxExport& options,
                          const graph::OpTable& ops, const OnnxMappings& mappings) {
  LANISTA_TRY(check_mappings(graph, mappings));
  LANISTA_TRY(graph::verify(graph, ops));
  LANISTA_TRY(check_normalization(options));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(graph, ops));
  OnnxModel model;
  model.producer = "lanista";
  model.graph_name = options.graph_name;
  model.metadata = options.metadata;
  model.inputs.push_back(info_of(kInput, types, graph, kInput));
  model.outputs.push_back(info_of(kOutput, types, graph, kOutput));
  LANISTA_TRY(add_model({graph, types, weights, {}, {}}, options, ops, mappings, model));
  return model;
}

Result<OnnxModel> to_onnx(const BlendedModel& blended, const OnnxExport& options, const graph::OpTable& ops,
                          const OnnxMappings& mappings) {
  LANISTA_CHECK(!blended.members.empty(), "a blend of nothing");
  const auto own_units = [&](const BlendMember& member) {
    OnnxExport own = options;
    own.mean = member.mean;
    own.scale = member.scale;
    own.target_mean = member.target_mean;
    own.target_scale = member.target_scale;
    own.missing = member.missing;
    return own;
  };
  if (blended.members.size() == 1) {
    const BlendMember& only = blended.members.front();
    return to_onnx(*only.graph, only.weights, own_units(only), ops, mappings);
  }
  OnnxModel model;
  std::vector<std::string> outputs;
  std::vector<double> shares;
  std::string normalised;  // of the first member
  for (std::size_t k = 0; k < blended.members.size(); ++k) {
    const BlendMember& member = blended.members[k];
    const OnnxExport own = own_units(member);
    // Each member is exported alone first. So errors appear before anything is written, and shapes can be compared.
    auto alone = to_onnx(*member.graph, member.weights, own, ops, mappings);
    if (!alone) return Error{alone.error().code, member_name(k) + ": " + alone.error().message, alone.error().where};
    if (k == 0) {
      std::tie(model.producer, model.graph_name, model.metadata) =
          std::tie(alone->producer, alone->graph_name, alone->metadata);
      std::tie(model.inputs, model.outputs) = std::tie(alone->inputs, alone->outputs);
    } else if (!same_kind(model.inputs, alone->inputs) || !same_kind(model.outputs, alone->outputs)) {
      return invalid(member_name(k) + " takes or gives other shapes than the first");
    }
    LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(*member.graph, ops));
    const std::string known = k > 0 && blended.shares_normalization() ? normalised : std::string();
    const std::string prefix = blend_prefix(k);
    LANISTA_ASSIGN(const std::string input,
                   add_model({*member.graph, types, member.weights, prefix, known}, own, ops, mappings, model));
    if (k == 0) normalised = input;
    outputs.push_back(prefix + kOutput);
    shares.push_back(member.share);
  }
  add_blend(blended.how, outputs, shares, kOutput, model);
  return model;
}

}  // namespace lanista::formats
