#include <algorithm>
#include <charconv>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// How many copies of each constant of a file are allowed on average.
constexpr std::size_t kCopies = 2;

template <class T>
Tensor tensor_of(ElementType type, List shape, std::span<const T> values) {
  Tensor tensor{.name = {}, .type = type, .shape = std::move(shape), .bytes = {}};
  tensor.bytes.resize(values.size_bytes());
  std::ranges::copy(values, elements_of<T>(tensor).begin());
  return tensor;
}

/// The value of a Constant node that is not a tensor; none for other kinds.
std::optional<Tensor> constant_value(const OnnxNode& node) {
  if (node.attributes.size() != 1) return std::nullopt;
  const auto& [name, value] = *node.attributes.begin();
  const auto size = [](const auto& list) { return List{static_cast<std::int64_t>(list.size())}; };
  if (const auto* number = std::get_if<std::int64_t>(&value); number != nullptr && name == "value_int") {
    return tensor_of<std::int64_t>(ElementType::kI64, {}, {number, 1});
  }
  if (const auto* number = std::get_if<float>(&value); number != nullptr && name == "value_float") {
    return tensor_of<float>(ElementType::kF32, {}, {number, 1});
  }
  if (const auto* list = std::get_if<List>(&value); list != nullptr && name == "value_ints") {
    return tensor_of<std::int64_t>(ElementType::kI64, size(*list), *list);
  }
  if (const auto* list = std::get_if<std::vector<float>>(&value); list != nullptr && name == "value_floats") {
    return tensor_of<float>(ElementType::kF32, size(*list), *list);
  }
  return std::nullopt;
}

}  // namespace

Result<void> OnnxView::add_constant(const OnnxNode& node, ByteBudget& budget) {
  if (node.op == "Constant") {
    const auto value = node.attributes.find("value");
    if (node.attributes.size() == 1 && value != node.attributes.end()) {
      const Tensor* tensor = std::get_if<Tensor>(&value->second);
      if (tensor == nullptr) return malformed("the attribute \"value\" is of the wrong type");
      budget.bytes_left += kCopies * tensor->bytes.size();
      constants_.emplace(node.outputs.front(), tensor);
    } else if (std::optional<Tensor> held = constant_value(node)) {
      LANISTA_TRY(budget.spend(held->bytes.size()));
      constants_.emplace(node.outputs.front(), &folded_.emplace_back(*std::move(held)));
    }
    return {};
  }
  std::vector<const Tensor*> inputs;
  for (const std::string& name : node.inputs) {
    inputs.push_back(name.empty() ? nullptr : constant(name));
    if (!name.empty() && inputs.back() == nullptr) return {};
  }
  LANISTA_ASSIGN(std::optional<Tensor> made, fold_node(node, inputs, budget));
  if (!made) return {};
  made->name = node.outputs.front();
  constants_.emplace(node.outputs.front(), &folded_.emplace_back(*std::move(made)));
  return {};
}

Result<OnnxView> OnnxView::make(const OnnxModel& model, ByteBudget& budget) {
  OnnxView view;
  view.opset_ = model.opset;
  for (const Tensor& tensor : model.initializers) {
    budget.bytes_left += kCopies * tensor.bytes.size();
    view.constants_.emplace(tensor.name, &tensor);
  }
  for (const OnnxNode& node : model.nodes) {
    for (const std::string& name : node.inputs) view.consumers_.emplace(name, &node);
    if (node.outputs.empty() || node.outputs.front().empty()) continue;
    view.producers_.emplace(node.outputs.front(), &node);
    if (auto added = view.add_constant(node, budget); !added) {
      return with_location("node " + in_quotes(node.name) + " (" + in_quotes(node.op) + ")", added.error());
    }
  }
  for (const OnnxValueInfo& info : model.outputs) view.consumers_.emplace(info.name, nullptr);
  return view;
}

const Tensor* OnnxView::constant(std::string_view name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

const OnnxNode* OnnxView::producer(std::string_view name) const {
  const auto found = producers_.find(name);
  return found == producers_.end() ? nullptr : found->second;
}

const OnnxNode* OnnxView::producer(std::string_view name, std::string_view op) const {
  const OnnxNode* node = producer(name);
  return node == nullptr || node->op != op ? nullptr : node;
}

std::size_t OnnxView::num_uses(std::string_view name) const { return consumers_.count(name); }

const OnnxNode* OnnxView::sole_consumer(std::string_view name, std::string_view op) const {
  const auto [first, last] = consumers_.equal_range(name);
  if (first == last || std::next(first) != last || first->second == nullptr) return nullptr;
  return first->second->op == op ? first->second : nullptr;
}

const OnnxNode* OnnxView::consumer(std::string_view name, std::string_view op) const {
  const auto [first, last] = consumers_.equal_range(name);
  const auto found =
      std::find_if(first, last, [&](const auto& entry) { return entry.second != nullptr && entry.second->op == op; });
  return found == last ? nullptr : found->second;
}

std::optional<float> OnnxView::scalar(std::string_view name) const {
  const Tensor* tensor = constant(name);
  if (tensor == nullptr || tensor->type != ElementType::kF32 || tensor->elements() != 1) return std::nullopt;
  return elements_of<float>(*tensor).front();
}

Result<void> NodeReader::allow_attributes(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : node_.attributes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return unsupported("the attribute " + in_quotes(name) + " is not known here");
    }
  }
  return {};
}

namespace {

template <class T>
Result<T> attribute(const OnnxNode& node, std::string_view name, T default_value) {
  const auto found = node.attributes.find(std::string(name));
  if (found == node.attributes.end()) return default_value;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) return malformed("the attribute " + in_quotes(name) + " is of the wrong type");
  return *value;
}

}  // namespace

Result<std::int64_t> NodeReader::integer(std::string_view name, std::int64_t default_value) const {
  return attribute(node_, name, default_value);
}

Result<double> NodeReader::real(std::string_view name, double default_value) const {
  LANISTA_ASSIGN(const float value, attribute(node_, name, static_cast<float>(default_value)));
  return shortest_double(value);
}

Result<std::string> NodeReader::text(std::string_view name, std::string default_value) const {
  return attribute(node_, name, std::move(default_value));
}

Result<List> NodeReader::list(std::string_view name, List default_value) const {
  return attribute(node_, name, std::move(default_value));
}

Result<void> NodeReader::require_value(std::string_view name, std::int64_t value) const {
  LANISTA_ASSIGN(const std::int64_t seen, integer(name, value));
  if (seen == value) return {};
  return unsupported("the attribute " + in_quotes(name) + " is " + std::to_string(seen) + "; read is " +
                     std::to_string(value));
}

Result<std::string> NodeReader::computed_input(std::size_t i) const {
  if (!has(i)) return malformed("its input " + std::to_string(i) + " is missing");
  if (view_.constant(node_.inputs[i]) == nullptr) return node_.inputs[i];
  return unsupported("its input " + std::to_string(i) + " is the constant " + in_quotes(node_.inputs[i]));
}

Result<std::vector<std::string>> NodeReader::computed_inputs() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
    LANISTA_ASSIGN(std::string name, computed_input(i));
    names.push_back(std::move(name));
  }
  return names;
}

Result<const Tensor*> NodeReader::weight(std::size_t i) const {
  if (!has(i)) return malformed("its input " + std::to_string(i) + " is missing");
  const Tensor* tensor = view_.constant(node_.inputs[i]);
  if (tensor == nullptr) return unsupported("its input " + std::to_string(i) + " is no constant");
  if (tensor->type != ElementType::kF32)
    return unsupported("the constant " + in_quotes(tensor->name) + " is not of type float");
  return tensor;
}

Result<List> NodeReader::integers(std::size_t i) const {
  if (!has(i)) return malformed("its input " + std::to_string(i) + " is missing");
  const Tensor* tensor = view_.constant(node_.inputs[i]);
  if (tensor == nullptr) return unsupported("its input " + std::to_string(i) + " is no constant");
  if (tensor->shape.size() > 1) return malformed("the constant " + in_quotes(node_.inputs[i]) + " is no list");
  return integers_of(*tensor);
}

Result<std::optional<List>> NodeReader::integers(std::string_view attribute, std::size_t i) const {
  std::optional<List> result;
  if (node_.attributes.contains(std::string(attribute))) {
    LANISTA_ASSIGN(result, list(attribute, {}));
  } else if (has(i)) {
    LANISTA_ASSIGN(result, integers(i));
  }
  return result;
}

double shortest_double(float value) {
  char text[64];
  const auto [end, failed] = std::to_chars(text, text + sizeof text, value);
  double wide = static_cast<double>(value);
  if (failed == std::errc()) std::from_chars(text, end, wide);
  return wide;
}

bool all_equal(const Tensor& tensor, float value) {
  const auto elements = elements_of<float>(tensor);
  return std::all_of(elements.begin(), elements.end(), [&](float e) { return e == value; });
}

Result<Tensor> as_vector(const Tensor& tensor) {
  const std::int64_t elements = tensor.elements();
  const auto& shape = tensor.shape;
  if (!shape.empty() && std::find(shape.begin(), shape.end(), elements) == shape.end()) {
    return unsupported("the constant " + in_quotes(tensor.name) + " has the shape " + graph::Shape{shape}.text() +
                       "; read are vectors");
  }
  Tensor vector = tensor;
  vector.shape = {elements};
  return vector;
}

}  // namespace lanista::formats::onnx
