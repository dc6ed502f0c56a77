#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// How many copies of each constant of a file are allowed on average.
constexpr std::size_t kCopies = 2;
constexpr std::size_t kProbeBytes = std::size_t{1} << 26;  // of all integers that are computed from shapes
/// Two batch sizes that no other size is likely to contain.
constexpr std::int64_t kProbeBatch[2] = {499, 503};

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

Result<const Tensor*> OnnxView::in_single(const Tensor& tensor, ByteBudget& budget) {
  budget.bytes_left += kCopies * tensor.bytes.size();
  if (tensor.type != ElementType::kF64) return &tensor;
  LANISTA_TRY(budget.spend(tensor.bytes.size() / 2));
  Tensor single{.name = tensor.name, .type = ElementType::kF32, .shape = tensor.shape, .bytes = {}};
  single.bytes.resize(tensor.bytes.size() / 2);
  bool exact = true;
  std::ranges::transform(elements_of<double>(tensor), elements_of<float>(single).begin(), [&](double number) {
    const auto near = static_cast<float>(number);
    exact = exact && (static_cast<double>(near) == number || std::isnan(number));
    return near;
  });
  rounded_ += exact ? 0 : 1;
  return &folded_.emplace_back(std::move(single));
}

Result<void> OnnxView::add_constant(const OnnxNode& node, ByteBudget& budget) {
  if (node.op == "Constant") {
    const auto value = node.attributes.find("value");
    if (node.attributes.size() == 1 && value != node.attributes.end()) {
      const Tensor* tensor = std::get_if<Tensor>(&value->second);
      if (tensor == nullptr) return malformed("the attribute \"value\" is of the wrong type");
      LANISTA_ASSIGN(constants_[node.outputs.front()], in_single(*tensor, budget));
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
    LANISTA_ASSIGN(view.constants_[tensor.name], view.in_single(tensor, budget));
  }
  view.probe_budget_.bytes_left = kProbeBytes;
  for (const OnnxNode& node : model.nodes) {
    // A shape reads no elements.
    for (const std::string& name : node.inputs) {
      if (node.op != "Shape") view.consumers_.emplace(name, &node);
    }
    if (node.outputs.empty() || node.outputs.front().empty()) continue;
    view.producers_.emplace(node.outputs.front(), &node);
    if (auto added = view.add_constant(node, budget); !added) {
      return with_location("node " + in_quotes(node.name) + " (" + in_quotes(node.op) + ")", added.error());
    }
  }
  for (const OnnxValueInfo& info : model.outputs) view.consumers_.emplace(info.name, nullptr);
  return view;
}

void OnnxView::keep(const std::string& name, Probes probes) {
  if (probes[0] == probes[1]) {
    probes[0].name = name;
    constants_.emplace(name, &folded_.emplace_back(std::move(probes[0])));
  } else {
    probes_.emplace(name, std::move(probes));
  }
}

void OnnxView::fold_shape(const OnnxNode& node, const List& dims) {
  Probes probes;
  for (const std::size_t k : {0U, 1U}) {
    List sizes = dims;
    for (std::int64_t& size : sizes) size = is_batch(size) ? batch_factor(size) * kProbeBatch[k] : size;
    // The shape of a tensor without elements is read.
    const Tensor like{.name = {}, .type = ElementType::kU8, .shape = std::move(sizes), .bytes = {}};
    const Tensor* input = &like;
    auto shape = fold_node(node, {&input, 1}, probe_budget_);
    if (!shape || !*shape) return;
    probes[k] = **std::move(shape);
  }
  keep(node.outputs.front(), std::move(probes));
}

void OnnxView::fold(const OnnxNode& node) {
  if (node.outputs.empty() || node.inputs.empty() || constant(node.outputs.front()) != nullptr) return;
  Probes probes;
  for (const std::size_t k : {0U, 1U}) {
    std::vector<const Tensor*> inputs;
    for (const std::string& name : node.inputs) {
      const auto probe = probes_.find(name);
      inputs.push_back(name.empty() ? nullptr : probe != probes_.end() ? &probe->second[k] : constant(name));
      if (!name.empty() && inputs.back() == nullptr) {
        const auto failure = failures_.find(name);
        if (failure != failures_.end()) set_failure(node.outputs.front(), failure->second);
        return;
      }
    }
    auto value = fold_node(node, inputs, probe_budget_);
    if (!value) return set_failure(node.outputs.front(), value.error());
    if (!*value) return;
    probes[k] = **std::move(value);
  }
  keep(node.outputs.front(), std::move(probes));
}

Result<List> OnnxView::integers(std::string_view name) const {
  if (const Tensor* tensor = constant(name)) return integers_of(*tensor);
  const auto found = probes_.find(name);
  if (found == probes_.end()) {
    const auto failure = failures_.find(name);
    if (failure != failures_.end()) return failure->second;
    return unsupported("it computes with " + in_quotes(name) + ", which is not made of constants and shapes");
  }
  LANISTA_ASSIGN(List first, integers_of(found->second[0]));
  LANISTA_ASSIGN(const List second, integers_of(found->second[1]));
  for (std::size_t i = 0; i < first.size() && first.size() == second.size(); ++i) {
    if (first[i] == second[i]) continue;
    const std::int64_t factor = first[i] / kProbeBatch[0];
    if (factor < 1 || factor * kProbeBatch[0] != first[i] || factor * kProbeBatch[1] != second[i]) {
      return unsupported("number " + std::to_string(i + 1) + " of " + in_quotes(name) + " computes with the batch");
    }
    first[i] = batch_times(factor);
  }
  if (first.size() != second.size()) return unsupported(in_quotes(name) + " has a length that depends on the batch");
  return first;
}

std::optional<List> OnnxView::counting_shape(std::string_view name) const {
  const auto found = probes_.find(name);
  if (found == probes_.end() || found->second[0].type != ElementType::kI64) return std::nullopt;
  for (const Tensor& probe : found->second) {
    std::int64_t next = 0;
    const bool counts = std::ranges::all_of(elements_of<std::int64_t>(probe), [&](auto i) { return i == next++; });
    if (!counts) return std::nullopt;
  }
  List shape = found->second[0].shape;
  const List& other = found->second[1].shape;
  for (std::size_t i = 0; i < shape.size() && shape.size() == other.size(); ++i) {
    const std::int64_t factor = shape[i] / kProbeBatch[0];
    if (shape[i] == other[i]) continue;
    if (factor < 1 || factor * kProbeBatch[0] != shape[i] || factor * kProbeBatch[1] != other[i]) return std::nullopt;
    shape[i] = batch_times(factor);
  }
  return shape.size() == other.size() ? std::optional(std::move(shape)) : std::nullopt;
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

Result<List> NodeReader::shape_integers(std::size_t i) const {
  if (!has(i)) return malformed("its input " + std::to_string(i) + " is missing");
  return view_.integers(node_.inputs[i]);
}

Result<std::optional<List>> NodeReader::shape_integers(std::string_view attribute, std::size_t i) const {
  if (node_.attributes.contains(std::string(attribute)) || !has(i)) return integers(attribute, i);
  LANISTA_ASSIGN(List numbers, shape_integers(i));
  return std::optional(std::move(numbers));
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
