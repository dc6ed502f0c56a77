#include "lanista/io/formats/onnx/onnx_origins.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::formats {
namespace {

constexpr std::int64_t kFloat = 1, kDouble = 11;  // types of ONNX

using Dims = std::vector<std::int64_t>;

Dims sample_of(const OnnxValueInfo& value) {
  return {value.shape.begin() + (value.shape.empty() ? 0 : 1), value.shape.end()};
}

std::int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

/// The shape in which `count` numbers broadcast over a sample; a scalar if it is one number.
Dims shape_of(std::size_t count, const Dims& sample) {
  const auto numbers = static_cast<std::int64_t>(count);
  if (numbers == product(sample)) return sample;
  if (sample.size() == 3 && numbers == sample[0]) return {numbers, 1, 1};
  LANISTA_CHECK(numbers == 1, "origins do not fit the sample");
  return {};
}

Tensor doubles(const std::string& name, Dims shape, const std::vector<double>& values) {
  Tensor tensor{name, ElementType::kF64, std::move(shape), std::vector<std::byte>(values.size() * sizeof(double))};
  std::ranges::copy(values, elements_of<double>(tensor).begin());
  return tensor;
}

void rename_input(OnnxModel& model, const std::string& from, const std::string& to) {
  for (OnnxNode& node : model.nodes) std::ranges::replace(node.inputs, from, to);
}

OnnxNode node_of(std::string value, std::string op, std::vector<std::string> inputs) {
  return {value, std::move(op), std::move(inputs), {value}, {}};
}

OnnxNode cast_of(std::string value, const std::string& from, std::int64_t type) {
  OnnxNode node = node_of(std::move(value), "Cast", {from});
  node.attributes["to"] = type;
  return node;
}

/// The only node that reads `value`, or null.
const OnnxNode* sole_reader(const OnnxModel& model, const std::string& value) {
  const OnnxNode* found = nullptr;
  for (const OnnxNode& node : model.nodes) {
    const auto uses = std::ranges::count(node.inputs, value);
    if (uses == 0) continue;
    if (found != nullptr || uses > 1) return nullptr;
    found = &node;
  }
  return found;
}

const OnnxNode* producer(const OnnxModel& model, const std::string& value) {
  const auto it = std::ranges::find_if(
      model.nodes, [&](const OnnxNode& node) { return std::ranges::find(node.outputs, value) != node.outputs.end(); });
  return it == model.nodes.end() ? nullptr : &*it;
}

bool is_cast(const OnnxNode* node, std::int64_t type) {
  if (node == nullptr || node->op != "Cast" || node->inputs.size() != 1 || node->outputs.size() != 1) return false;
  const auto to = node->attributes.find("to");
  return to != node->attributes.end() && to->second == OnnxValue(type);
}

/// The numbers of the second operand of `node`, if it is `op` with finite doubles that broadcast over a sample.
std::vector<double> origin_in(const OnnxModel& model, const OnnxNode* node, const std::string& op, const Dims& sample) {
  if (node == nullptr || node->op != op || node->inputs.size() != 2 || node->outputs.size() != 1) return {};
  const auto constant = std::ranges::find(model.initializers, node->inputs[1], &Tensor::name);
  if (constant == model.initializers.end() || constant->type != ElementType::kF64) return {};
  const auto values = elements_of<double>(*constant);
  const bool per_channel = sample.size() == 3 && constant->shape == Dims{sample[0], 1, 1};
  if (!constant->shape.empty() && constant->shape != sample && !per_channel) return {};
  if (!std::ranges::all_of(values, [](double x) { return std::isfinite(x); })) return {};
  return {values.begin(), values.end()};
}

void remove_nodes(OnnxModel& model, const std::vector<std::string>& values, const std::string& constant) {
  std::erase_if(model.nodes, [&](const OnnxNode& node) {
    return node.outputs.size() == 1 && std::ranges::find(values, node.outputs[0]) != values.end();
  });
  const bool is_read = std::ranges::any_of(
      model.nodes, [&](const OnnxNode& node) { return std::ranges::find(node.inputs, constant) != node.inputs.end(); });
  if (!is_read) std::erase_if(model.initializers, [&](const Tensor& each) { return each.name == constant; });
}

}  // namespace

void add_origins(const OnnxOrigins& origins, OnnxModel& model) {
  OnnxValueInfo& input = model.inputs.front();
  OnnxValueInfo& output = model.outputs.front();
  if (!origins.input.empty()) {
    const std::string constant = input.name + ".origin", less = input.name + ".less_origin",
                      stored = input.name + ".stored";
    rename_input(model, input.name, stored);
    model.nodes.insert(model.nodes.begin(),
                       {node_of(less, "Sub", {input.name, constant}), cast_of(stored, less, kFloat)});
    model.initializers.push_back(doubles(constant, shape_of(origins.input.size(), sample_of(input)), origins.input));
    input.type = ElementType::kF64;
  }
  if (!origins.output.empty()) {
    const std::string constant = output.name + ".origin", stored = output.name + ".stored",
                      wide = output.name + ".double";
    for (OnnxNode& node : model.nodes) std::ranges::replace(node.outputs, output.name, stored);
    rename_input(model, output.name, stored);
    model.nodes.push_back(cast_of(wide, stored, kDouble));
    model.nodes.push_back(node_of(output.name, "Add", {wide, constant}));
    model.nodes.back().name = output.name + ".plus_origin";  // a blend has a node with the name of the output
    model.initializers.push_back(doubles(constant, shape_of(origins.output.size(), sample_of(output)), origins.output));
    output.type = ElementType::kF64;
  }
}

OnnxOrigins take_origins(OnnxModel& model) {
  OnnxOrigins out;
  if (model.inputs.size() != 1 || model.outputs.size() != 1) return out;
  OnnxValueInfo& input = model.inputs.front();
  if (const OnnxNode* sub = input.type == ElementType::kF64 ? sole_reader(model, input.name) : nullptr) {
    std::vector<double> origin = origin_in(model, sub, "Sub", sample_of(input));
    const OnnxNode* cast =
        origin.empty() || sub->inputs[0] != input.name ? nullptr : sole_reader(model, sub->outputs[0]);
    if (is_cast(cast, kFloat)) {
      const std::string stored = cast->outputs[0], constant = sub->inputs[1];
      remove_nodes(model, {sub->outputs[0], stored}, constant);
      rename_input(model, stored, input.name);
      input.type = ElementType::kF32;
      out.input = std::move(origin);
    }
  }
  OnnxValueInfo& output = model.outputs.front();
  if (const OnnxNode* add = output.type == ElementType::kF64 ? producer(model, output.name) : nullptr) {
    std::vector<double> origin = origin_in(model, add, "Add", sample_of(output));
    const OnnxNode* cast = origin.empty() ? nullptr : producer(model, add->inputs[0]);
    if (is_cast(cast, kDouble) && sole_reader(model, cast->outputs[0]) == add) {
      const std::string stored = cast->inputs[0], constant = add->inputs[1];
      remove_nodes(model, {output.name, cast->outputs[0]}, constant);
      for (OnnxNode& node : model.nodes) std::ranges::replace(node.outputs, stored, output.name);
      rename_input(model, stored, output.name);
      output.type = ElementType::kF32;
      out.output = std::move(origin);
    }
  }
  return out;
}

}  // namespace lanista::formats
