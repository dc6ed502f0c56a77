#include <algorithm>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

constexpr std::size_t kMaxSteps = 100;        // exporters write some ten
constexpr std::size_t kMaxBytes = 1U << 20U;  // of all intermediate lists

/// The nodes between shapes and a list of integers, in the order of computation.
struct ShapeComputation {
  std::vector<const OnnxNode*> nodes;
  std::vector<std::string> shapes_of;
};

/// Collects what `name` is made of: constants, shapes of values, and operators on them.
Result<ShapeComputation> shape_computation_of(const OnnxView& view, const std::string& name) {
  ShapeComputation steps;
  std::map<std::string_view, bool> ready;  // false: on the way
  std::vector<std::string_view> open{name};
  while (!open.empty()) {
    const std::string_view name_to_compute = open.back();
    if (name_to_compute.empty() || view.constant(name_to_compute) != nullptr || ready[name_to_compute]) {
      open.pop_back();
      continue;
    }
    const OnnxNode* node = view.producer(name_to_compute);
    if (node == nullptr || steps.nodes.size() + open.size() > kMaxSteps) {
      return unsupported("it computes with " + in_quotes(name) + ", which is not made of constants and shapes");
    }
    const bool shape = node->op == "Shape" && node->inputs.size() == 1;
    const std::size_t before = open.size();
    for (const std::string& input : node->inputs) {
      if (!shape && !input.empty() && view.constant(input) == nullptr && !ready[input]) open.push_back(input);
    }
    if (open.size() > before) continue;
    if (shape) steps.shapes_of.push_back(node->inputs.front());
    steps.nodes.push_back(node);
    ready[name_to_compute] = true;
    open.pop_back();
  }
  return steps;
}

/// A tensor without elements that has the shape of a value, for Shape to look at.
Tensor shape_only_tensor(const List& dims) { return {.name = {}, .type = ElementType::kU8, .shape = dims, .bytes = {}}; }

Result<List> computed(const OnnxView& view, const ShapeComputation& steps, const std::string& name, std::span<const List> dims) {
  std::map<std::string_view, Tensor> made;
  ByteBudget budget{kMaxBytes};
  std::size_t next_shape = 0;
  for (const OnnxNode* node : steps.nodes) {
    std::optional<Tensor> value;
    if (node->op == "Shape" && node->inputs.size() == 1) {
      const Tensor like = shape_only_tensor(dims[next_shape++]);
      const Tensor* input = &like;
      LANISTA_ASSIGN(value, fold_node(*node, {&input, 1}, budget));
    } else {
      std::vector<const Tensor*> inputs;
      for (const std::string& input : node->inputs) {
        const auto found = made.find(input);
        inputs.push_back(found != made.end() ? &found->second : view.constant(input));
      }
      LANISTA_ASSIGN(value, fold_node(*node, inputs, budget));
    }
    if (!value) return unsupported("it computes with " + in_quotes(name) + ", made by " + in_quotes(node->op));
    made.emplace(node->outputs.front(), *std::move(value));
  }
  return integers_of(made.at(name));
}

}  // namespace

Result<ShapeIntegers> NodeReader::shape_integers(std::size_t i) const {
  if (!has(i)) return malformed("its input " + std::to_string(i) + " is missing");
  const std::string& name = node_.inputs[i];
  if (view_.constant(name) != nullptr) {
    LANISTA_ASSIGN(List list, integers(i));
    return ShapeIntegers{{}, [list = std::move(list)](std::span<const List>) -> Result<List> { return list; }};
  }
  LANISTA_ASSIGN(ShapeComputation steps, shape_computation_of(view_, name));
  std::vector<std::string> shapes_of = steps.shapes_of;
  return ShapeIntegers{std::move(shapes_of), [&view = view_, steps = std::move(steps), &name](std::span<const List> dims) {
                   return computed(view, steps, name, dims);
                 }};
}

}  // namespace lanista::formats::onnx
