#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <utility>

#include "lanista/formats/onnx_rules.h"
#include "lanista/formats/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

/// How often each constant of a file may be copied on the average.
constexpr std::size_t kCopies = 2;

/// The tensor of a Constant node; null if it is none, or holds something else.
const Tensor* constant_value(const OnnxNode& node) {
  const auto found = node.attributes.find("value");
  if (node.op != "Constant" || node.attributes.size() != 1 || found == node.attributes.end()) return nullptr;
  return std::get_if<Tensor>(&found->second);
}

/// Sizes one in front of the axes that Unsqueeze names.
Result<List> unsqueezed(const List& dims, List axes) {
  const auto rank = static_cast<std::int64_t>(dims.size() + axes.size());
  for (std::int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  std::sort(axes.begin(), axes.end());
  List result = dims;
  for (const std::int64_t axis : axes) {
    if (axis < 0 || axis > static_cast<std::int64_t>(result.size())) {
      return broken("the axis " + std::to_string(axis) + " does not exist");
    }
    result.insert(result.begin() + axis, 1);
  }
  return result;
}

/// What the node makes of constants; nothing if it is none of the few operators that exporters put there.
Result<std::optional<Tensor>> fold(const Site& site) {
  const OnnxNode& node = site.node();
  if (!site.has(0) || node.outputs.size() != 1) return std::optional<Tensor>();
  const Tensor* source = site.view().constant(node.inputs[0]);
  if (source == nullptr) return std::optional<Tensor>();
  if (node.op == "Identity") return std::optional(*source);
  if (node.op == "Transpose") {
    List axes(source->shape.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
    LANISTA_ASSIGN(axes, site.list("perm", axes));
    List sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    List all(source->shape.size());
    std::iota(all.begin(), all.end(), 0);
    if (sorted != all) return broken("perm is no permutation of the dimensions");
    return std::optional(transposed(*source, axes));
  }
  if ((node.op != "Unsqueeze" && node.op != "Reshape") || !site.has(1) ||
      site.view().constant(node.inputs[1]) == nullptr) {
    return std::optional<Tensor>();
  }
  LANISTA_ASSIGN(const List numbers, site.integers(1));
  Tensor result = *source;
  if (node.op == "Unsqueeze") {
    LANISTA_ASSIGN(result.shape, unsqueezed(source->shape, numbers));
  } else {
    LANISTA_ASSIGN(result.shape, reshaped(numbers, source->shape));
  }
  if (result.shape.size() > kMaxRank) return broken("a tensor has more than 64 dimensions");
  return std::optional(std::move(result));
}

}  // namespace

Result<void> ByteBudget::spend(std::size_t bytes) {
  if (bytes > left) {
    return Error{Code::kResourceExhausted, "constants and weights would take more than twice the bytes of the file",
                 ""};
  }
  left -= bytes;
  return {};
}

Result<View> View::make(const OnnxModel& model, ByteBudget& budget) {
  View view;
  for (const Tensor& tensor : model.initializers) {
    budget.left += kCopies * tensor.bytes.size();
    view.constants_.emplace(tensor.name, &tensor);
  }
  for (const OnnxNode& node : model.nodes) {
    for (const std::string& name : node.inputs) view.users_.emplace(name, &node);
    if (node.outputs.empty() || node.outputs.front().empty()) continue;
    view.makers_.emplace(node.outputs.front(), &node);
    if (const Tensor* value = constant_value(node)) {
      budget.left += kCopies * value->bytes.size();
      view.constants_.emplace(node.outputs.front(), value);
      continue;
    }
    auto folded = fold(Site(view, node));
    if (!folded) return placed("node " + shown(node.name) + " (" + shown(node.op) + ")", folded.error());
    if (!*folded) continue;
    LANISTA_TRY(budget.spend((*folded)->bytes.size()));
    view.folded_.push_back(**std::move(folded));
    view.constants_.emplace(node.outputs.front(), &view.folded_.back());
  }
  for (const OnnxInfo& info : model.outputs) view.users_.emplace(info.name, nullptr);
  return view;
}

const Tensor* View::constant(std::string_view name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? nullptr : found->second;
}

const OnnxNode* View::maker(std::string_view name, std::string_view op) const {
  const auto found = makers_.find(name);
  return found == makers_.end() || found->second->op != op ? nullptr : found->second;
}

std::size_t View::uses(std::string_view name) const { return users_.count(name); }

const OnnxNode* View::only_user(std::string_view name, std::string_view op) const {
  const auto [first, last] = users_.equal_range(name);
  if (first == last || std::next(first) != last || first->second == nullptr) return nullptr;
  return first->second->op == op ? first->second : nullptr;
}

std::optional<float> View::scalar(std::string_view name) const {
  const Tensor* tensor = constant(name);
  if (tensor == nullptr || tensor->type != ElementType::kF32 || tensor->elements() != 1) return std::nullopt;
  return elements_of<float>(*tensor).front();
}

Result<void> Site::only(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : node_.attributes) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return refused("the attribute " + shown(name) + " is not known here");
    }
  }
  return {};
}

namespace {

template <class T>
Result<T> attribute(const OnnxNode& node, std::string_view name, T otherwise) {
  const auto found = node.attributes.find(std::string(name));
  if (found == node.attributes.end()) return otherwise;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) return broken("the attribute " + shown(name) + " is of the wrong type");
  return *value;
}

}  // namespace

Result<std::int64_t> Site::integer(std::string_view name, std::int64_t otherwise) const {
  return attribute(node_, name, otherwise);
}

Result<double> Site::real(std::string_view name, double otherwise) const {
  LANISTA_ASSIGN(const float value, attribute(node_, name, static_cast<float>(otherwise)));
  return widened(value);
}

Result<std::string> Site::text(std::string_view name, std::string otherwise) const {
  return attribute(node_, name, std::move(otherwise));
}

Result<List> Site::list(std::string_view name, List otherwise) const {
  return attribute(node_, name, std::move(otherwise));
}

Result<void> Site::must_be(std::string_view name, std::int64_t value) const {
  LANISTA_ASSIGN(const std::int64_t seen, integer(name, value));
  if (seen == value) return {};
  return refused("the attribute " + shown(name) + " is " + std::to_string(seen) + "; read is " + std::to_string(value));
}

Result<std::string> Site::data(std::size_t i) const {
  if (!has(i)) return broken("its input " + std::to_string(i) + " is missing");
  if (view_.constant(node_.inputs[i]) == nullptr) return node_.inputs[i];
  return refused("its input " + std::to_string(i) + " is the constant " + shown(node_.inputs[i]));
}

Result<std::vector<std::string>> Site::all_data() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
    LANISTA_ASSIGN(std::string name, data(i));
    names.push_back(std::move(name));
  }
  return names;
}

Result<const Tensor*> Site::weight(std::size_t i) const {
  if (!has(i)) return broken("its input " + std::to_string(i) + " is missing");
  const Tensor* tensor = view_.constant(node_.inputs[i]);
  if (tensor == nullptr) return refused("its input " + std::to_string(i) + " is no constant");
  if (tensor->type != ElementType::kF32)
    return refused("the constant " + shown(tensor->name) + " is not of type float");
  return tensor;
}

Result<List> Site::integers(std::size_t i) const {
  if (!has(i)) return broken("its input " + std::to_string(i) + " is missing");
  const Tensor* tensor = view_.constant(node_.inputs[i]);
  if (tensor == nullptr) return refused("its input " + std::to_string(i) + " is no constant");
  if (tensor->type != ElementType::kI64 || tensor->shape.size() > 1) {
    return broken("the constant " + shown(node_.inputs[i]) + " is no list of int64");
  }
  const auto numbers = elements_of<std::int64_t>(*tensor);
  return List(numbers.begin(), numbers.end());
}

double widened(float value) {
  char text[64];
  const auto [end, failed] = std::to_chars(text, text + sizeof text, value);
  double wide = static_cast<double>(value);
  if (failed == std::errc()) std::from_chars(text, end, wide);
  return wide;
}

bool all_are(const Tensor& tensor, float value) {
  const auto elements = elements_of<float>(tensor);
  return std::all_of(elements.begin(), elements.end(), [&](float e) { return e == value; });
}

Tensor transposed(const Tensor& tensor, const List& axes) {
  const std::size_t rank = axes.size(), size = element_size(tensor.type);
  List source_strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) source_strides[i - 1] = source_strides[i] * tensor.shape[i];
  Tensor result{.name = tensor.name, .type = tensor.type, .shape = List(rank), .bytes = {}};
  List strides(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    result.shape[i] = tensor.shape[static_cast<std::size_t>(axes[i])];
    strides[i] = source_strides[static_cast<std::size_t>(axes[i])];
  }
  result.bytes.resize(tensor.bytes.size());
  List at(rank, 0);
  std::int64_t from = 0;
  for (std::size_t to = 0; to < result.bytes.size(); to += size) {
    std::memcpy(result.bytes.data() + to, tensor.bytes.data() + static_cast<std::size_t>(from) * size, size);
    for (std::size_t axis = rank; axis-- > 0;) {
      from += strides[axis];
      if (++at[axis] < result.shape[axis]) break;
      from -= strides[axis] * result.shape[axis];
      at[axis] = 0;
    }
  }
  return result;
}

Result<Tensor> as_vector(const Tensor& tensor) {
  const std::int64_t elements = tensor.elements();
  const auto& shape = tensor.shape;
  if (!shape.empty() && std::find(shape.begin(), shape.end(), elements) == shape.end()) {
    return refused("the constant " + shown(tensor.name) + " has the shape " + graph::Shape{shape}.text() +
                   "; read are vectors");
  }
  Tensor vector = tensor;
  vector.shape = {elements};
  return vector;
}

Result<List> reshaped(const List& target, const List& dims) {
  const auto misfit = [&] {
    return Error{Code::kInvalidArgument,
                 "cannot reshape " + graph::Shape{dims}.text() + " to " + graph::attr_text(target), ""};
  };
  List result = target;
  std::optional<std::size_t> open;
  std::int64_t elements = 1, known = 1;
  for (const std::int64_t d : dims) elements *= d == graph::kBatch ? 1 : d;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0) {
      if (i >= dims.size()) return misfit();
      result[i] = dims[i];
    }
    if (target[i] == -1) {
      if (open) return misfit();
      open = i;
    } else if (result[i] < -1 || (result[i] == graph::kBatch && i > 0) ||
               (result[i] != graph::kBatch && __builtin_mul_overflow(known, result[i], &known))) {
      return misfit();
    }
  }
  // An open size in front of a value with a batch is the batch, and then nothing else may be open.
  const bool batch = !dims.empty() && dims.front() == graph::kBatch;
  if (open && !(batch && *open == 0)) {
    if (known == 0 || elements % known != 0) return misfit();
    result[*open] = elements / known;
    known = elements;
  }
  const bool keeps_batch = !batch || (!result.empty() && result.front() == graph::kBatch);
  if (known != elements || !keeps_batch) return misfit();
  return result;
}

}  // namespace lanista::formats::onnx
