#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"
#include "lanista/io/formats/onnx/onnx_windows.h"

namespace lanista::formats::onnx {
namespace {

const Rewrite kNoRewrite{};

Rewrite unary(std::string input, std::string op, Attrs attrs = {}) {
  return Rewrite{{std::move(input)},
                 [op = std::move(op), attrs = std::move(attrs)](ModelWriter& w, Ports inputs) {
                   return w.add(op, {inputs[0]}, attrs);
                 },
                 "",
                 true};
}

bool binary(const OnnxNode* node) { return node != nullptr && node->inputs.size() == 2; }

/// Whether a value is this number, up to rounding.
bool is_number(const OnnxView& view, std::string_view name, double number) {
  const auto scalar = view.scalar(name);
  return scalar && std::abs(static_cast<double>(*scalar) - number) < 1e-6;
}

/// The factors of a product of products, two levels deep. `whole` is a factor even if it is a product.
std::vector<std::string> factors(const OnnxView& view, const OnnxNode& product, std::string_view whole) {
  std::vector<std::string> result;
  for (const std::string& name : product.inputs) {
    const OnnxNode* inner = name == whole ? nullptr : view.producer(name, "Mul");
    if (binary(inner)) {
      result.insert(result.end(), inner->inputs.begin(), inner->inputs.end());
    } else {
      result.push_back(name);
    }
  }
  return result;
}

/// Removes a number from a list of factors; false if it is not there.
bool remove_number(const OnnxView& view, std::vector<std::string>& list, double number) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& name) { return is_number(view, name, number); });
  if (found == list.end()) return false;
  list.erase(found);
  return true;
}

/// Whether a value is 0.044715 x^3 in any order of its factors, or with Pow.
bool is_bent(const OnnxView& view, std::string_view name, const std::string& x) {
  const OnnxNode* node = view.producer(name, "Mul");
  if (!binary(node)) return false;
  for (const std::size_t i : {0U, 1U}) {
    if (!is_number(view, node->inputs[i], 0.044715)) continue;
    const std::string& cube = node->inputs[1 - i];
    const OnnxNode* power = view.producer(cube, "Pow");
    if (binary(power)) return power->inputs[0] == x && is_number(view, power->inputs[1], 3);
    const OnnxNode* product = view.producer(cube, "Mul");
    return binary(product) && factors(view, *product, x) == std::vector<std::string>(3, x);
  }
  return false;
}

/// The x of x / sqrt(2) in any notation.
const std::string* root_half_input(const OnnxView& view, std::string_view name) {
  const OnnxNode* quotient = view.producer(name, "Div");
  if (binary(quotient))
    return is_number(view, quotient->inputs[1], std::numbers::sqrt2) ? &quotient->inputs[0] : nullptr;
  const OnnxNode* product = view.producer(name, "Mul");
  if (!binary(product)) return nullptr;
  for (const std::size_t i : {0U, 1U}) {
    if (is_number(view, product->inputs[i], 1 / std::numbers::sqrt2)) return &product->inputs[1 - i];
  }
  return nullptr;
}

/// The x of 1 + erf(x / sqrt(2)), or of 1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)); null for any other value.
const std::string* gelu_gate_input(const OnnxView& view, std::string_view name, bool& by_erf) {
  const OnnxNode* gate = view.producer(name, "Add");
  if (!binary(gate)) return nullptr;
  for (const std::size_t i : {0U, 1U}) {
    const OnnxNode* erf = view.producer(gate->inputs[i], "Erf");
    if (erf != nullptr && erf->inputs.size() == 1 && is_number(view, gate->inputs[1 - i], 1)) {
      by_erf = true;
      return root_half_input(view, erf->inputs[0]);
    }
    const OnnxNode* tanh = view.producer(gate->inputs[i], "Tanh");
    if (tanh == nullptr || tanh->inputs.size() != 1 || !is_number(view, gate->inputs[1 - i], 1)) continue;
    const OnnxNode* argument = view.producer(tanh->inputs[0], "Mul");
    if (!binary(argument)) return nullptr;
    for (const std::size_t k : {0U, 1U}) {
      const OnnxNode* sum = view.producer(argument->inputs[k], "Add");
      if (!binary(sum) || !is_number(view, argument->inputs[1 - k], std::sqrt(2 / std::numbers::pi))) continue;
      if (is_bent(view, sum->inputs[1], sum->inputs[0])) return &sum->inputs[0];
      if (is_bent(view, sum->inputs[0], sum->inputs[1])) return &sum->inputs[1];
    }
  }
  return nullptr;
}

/// The parts of Reshape(InstanceNormalization(Reshape(x, [0, groups, -1]), ones, zeros), shape).
struct GroupNorm {
  std::string input;
  List grouped, back;  ///< the shapes of the first Reshape and of the last
  std::int64_t groups = 0;
  double eps = 0;
};

Result<std::optional<GroupNorm>> group_norm_of(const OnnxView& view, const OnnxNode& last) {
  const OnnxNode* norm = binary(&last) ? view.producer(last.inputs[0], "InstanceNormalization") : nullptr;
  const OnnxNode* first =
      norm != nullptr && norm->inputs.size() == 3 ? view.producer(norm->inputs[0], "Reshape") : nullptr;
  if (!binary(first)) return std::optional<GroupNorm>();
  const NodeReader node_reader(view, *norm);
  GroupNorm parts;
  parts.input = first->inputs[0];
  LANISTA_TRY(node_reader.allow_attributes({"epsilon"}));
  LANISTA_ASSIGN(parts.eps, node_reader.real("epsilon", 1e-5));
  LANISTA_ASSIGN(const Tensor* ones, node_reader.weight(1));
  LANISTA_ASSIGN(const Tensor* zeros, node_reader.weight(2));
  LANISTA_ASSIGN(parts.grouped, NodeReader(view, *first).shape_integers(1));
  LANISTA_ASSIGN(parts.back, NodeReader(view, last).shape_integers(1));
  if (!all_equal(*ones, 1) || !all_equal(*zeros, 0) || parts.grouped.size() != 3 || parts.grouped[1] < 1) {
    return std::optional<GroupNorm>();
  }
  parts.groups = parts.grouped[1];
  return std::optional(std::move(parts));
}

/// A vector of one number, repeated to `size`.
Tensor stretched(Tensor vector, std::int64_t size) {
  if (vector.elements() != 1 || size <= 1) return vector;
  const float number = elements_of<float>(vector).front();
  vector.shape = {size};
  vector.bytes.resize(static_cast<std::size_t>(size) * sizeof(float));
  std::ranges::fill(elements_of<float>(vector), number);
  return vector;
}

Rewrite group_norm_rewrite(GroupNorm parts, const Tensor* scale, const Tensor* shift) {
  std::string input = parts.input;
  return {{std::move(input)}, [parts = std::move(parts), scale, shift](ModelWriter& w, Ports inputs) -> Result<Port> {
            const List dims = w.dims(inputs[0]), rest(dims.begin() + 1, dims.end());
            LANISTA_ASSIGN(const List back, reshaped_sample(parts.back, dims, w.batch()));
            if (back != rest) return unsupported("the groups do not come back in the shape of the input");
            LANISTA_ASSIGN(const List grouped, reshaped_sample(parts.grouped, dims, w.batch()));
            if (grouped != List{parts.groups, product(rest) / parts.groups}) {
              return unsupported("its groups " + sizes_text(parts.grouped) + " are not those of channels");
            }
            const bool plain =
                scale != nullptr && all_equal(*scale, 1) && all_equal(*shift, 0) && scale->elements() == 1;
            const bool affine = scale != nullptr && !plain;
            const Attrs attrs{{"groups", parts.groups}, {"eps", parts.eps}, {"affine", affine}};
            std::vector<Tensor> params;
            for (const Tensor* given : {scale, shift}) {
              if (!affine) break;
              // [C, 1, 1] broadcasts over channels of images, [C, 1] over those of rows, [C] over those of vectors.
              LANISTA_ASSIGN(Tensor vector, as_vector(*given));
              if (given->shape.size() != rest.size()) return unsupported("it does not stretch channels");
              params.push_back(stretched(std::move(vector), rest[0]));
            }
            if (rest.size() != 2) return w.add("group_norm", {inputs[0]}, attrs, std::move(params));
            LANISTA_ASSIGN(const Port image, in_shape(w, inputs[0], {rest[0], rest[1], 1}));
            LANISTA_ASSIGN(const Port normal, w.add("group_norm", {image}, attrs, std::move(params)));
            return in_shape(w, normal, rest);
          }};
}

}  // namespace

RewriteResult silu_group(const NodeReader& node_reader) {
  const OnnxNode& node = node_reader.node();
  if (!binary(&node)) return kNoRewrite;
  for (const std::size_t i : {0U, 1U}) {
    const OnnxNode* gate = node_reader.view().producer(node.inputs[i], "Sigmoid");
    if (gate == nullptr || gate->inputs != std::vector<std::string>{node.inputs[1 - i]}) continue;
    return unary(node.inputs[1 - i], "silu");
  }
  return kNoRewrite;
}

std::optional<Gelu> gelu_of(const OnnxView& view, const OnnxNode& node) {
  if (node.op != "Mul" || !binary(&node)) return std::nullopt;
  for (const std::string& candidate : factors(view, node, "")) {
    bool by_erf = false;
    const std::string* x = gelu_gate_input(view, candidate, by_erf);
    if (x == nullptr) continue;
    std::vector<std::string> rest = factors(view, node, *x);
    const auto position = std::find(rest.begin(), rest.end(), candidate);
    if (position == rest.end()) continue;
    rest.erase(position);
    if (!remove_number(view, rest, 0.5) || rest != std::vector<std::string>{*x}) continue;
    return Gelu{*x, by_erf};
  }
  return std::nullopt;
}

RewriteResult gelu_group(const NodeReader& node_reader) {
  const auto gelu = gelu_of(node_reader.view(), node_reader.node());
  if (!gelu) return kNoRewrite;
  return unary(gelu->input, gelu->by_erf ? "gelu_erf" : "gelu");
}

RewriteResult group_norm_group(const NodeReader& node_reader) {
  LANISTA_ASSIGN(std::optional<GroupNorm> parts, group_norm_of(node_reader.view(), node_reader.node()));
  if (!parts) return kNoRewrite;
  return group_norm_rewrite(*std::move(parts), nullptr, nullptr);
}

RewriteResult affine_group_norm_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const OnnxNode& add = node_reader.node();
  if (!binary(&add)) return kNoRewrite;
  const OnnxNode* mul = view.producer(add.inputs[0], "Mul");
  const OnnxNode* last = binary(mul) ? view.producer(mul->inputs[0], "Reshape") : nullptr;
  const Tensor* scale = last == nullptr ? nullptr : view.constant(mul->inputs[1]);
  const Tensor* shift = view.constant(add.inputs[1]);
  if (scale == nullptr || shift == nullptr || scale->shape != shift->shape) return kNoRewrite;
  LANISTA_ASSIGN(std::optional<GroupNorm> parts, group_norm_of(view, *last));
  if (!parts) return kNoRewrite;
  LANISTA_ASSIGN(scale, NodeReader(view, *mul).weight(1));
  LANISTA_ASSIGN(shift, node_reader.weight(1));
  return group_norm_rewrite(*std::move(parts), scale, shift);
}

RewriteResult linear_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const OnnxNode& add = node_reader.node();
  if (!binary(&add)) return kNoRewrite;
  for (const std::size_t i : {0U, 1U}) {
    const OnnxNode* product = view.producer(add.inputs[i], "MatMul");
    const Tensor* bias = view.constant(add.inputs[1 - i]);
    if (!binary(product) || bias == nullptr) continue;
    const std::int64_t numbers = bias->elements();
    if (numbers < 1 || (numbers > 1 && bias->shape.back() != numbers)) continue;
    // If the product has another reader, it would become two layers.
    if (view.constant(product->inputs[1]) == nullptr || view.num_uses(add.inputs[i]) != 1) continue;
    LANISTA_ASSIGN(std::string input, NodeReader(view, *product).computed_input(0));
    LANISTA_ASSIGN(const Tensor* matrix, NodeReader(view, *product).weight(1));
    LANISTA_ASSIGN(bias, node_reader.weight(1 - i));
    return linear_rewrite(std::move(input), *matrix, false, bias);
  }
  return kNoRewrite;
}

RewriteResult adaptive_pool_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  if (!binary(&node_reader.node())) return kNoRewrite;
  const OnnxNode* narrow = view.producer(node_reader.node().inputs[1], "MatMul");
  const Tensor* rows = view.constant(node_reader.node().inputs[0]);
  const Tensor* columns = binary(narrow) ? view.constant(narrow->inputs[1]) : nullptr;
  const auto matrix = [](const Tensor* t) {
    return t != nullptr && t->type == ElementType::kF32 && t->shape.size() == 2 && t->elements() > 0;
  };
  if (!matrix(rows) || !matrix(columns)) return kNoRewrite;
  const std::int64_t oh = rows->shape[0], h = rows->shape[1], width = columns->shape[0], ow = columns->shape[1];
  const auto holds = [](const Tensor& t, const std::vector<float>& values) {
    return std::ranges::equal(elements_of<float>(t), values);
  };
  if (!holds(*rows, window_means(h, oh, false)) || !holds(*columns, window_means(width, ow, true))) return kNoRewrite;
  return Rewrite{{narrow->inputs[0]}, [oh, h, width, ow](ModelWriter& w, Ports inputs) -> Result<Port> {
                   const List& dims = w.dims(inputs[0]);
                   if (dims.size() != 4 || dims[2] != h || dims[3] != width)
                     return unsupported("it averages no images");
                   return w.add("adaptive_avg_pool2d", {inputs[0]}, {{"out", one_or_two(oh, ow)}});
                 }};
}

Result<PlacedPort> placed_linear(ModelWriter& w, const PlacedPort& value, const Tensor& matrix, bool is_transposed,
                                 const Tensor* bias, double matrix_factor, double bias_factor) {
  const List dims = w.dims(value.port);
  if (matrix.shape.size() != 2) return unsupported("its constant is " + graph::Shape{matrix.shape}.text());
  if (value.place.axis + 1 == file_rank(w, value)) return unsupported("it multiplies along the batch");
  std::vector<Tensor> params{times(is_transposed ? matrix : transposed(matrix, {1, 0}), matrix_factor)};
  const std::int64_t out = params.front().shape[0];
  if (bias != nullptr) {
    // [1, 1, out] broadcasts over rows; other shapes fit no layer.
    const bool row = bias->elements() == 1 || (!bias->shape.empty() && bias->shape.back() == out);
    if (!row || bias->shape.size() > dims.size()) {
      return unsupported("its bias " + in_quotes(bias->name) + " is " + graph::Shape{bias->shape}.text());
    }
    LANISTA_ASSIGN(Tensor vector, as_vector(*bias));
    params.push_back(times(stretched(std::move(vector), out), bias_factor));
  }
  const Attrs attrs{{"out", out}, {"bias", bias != nullptr}};
  // Lanista's layers accept rows of features, not images.
  const auto layer = [&](Port rows) { return w.add("linear", {rows}, attrs, std::move(params)); };
  PlacedPort result = value;
  if (dims.size() < 4) {
    LANISTA_ASSIGN(result.port, layer(value.port));
    return result;
  }
  List rows{1, dims.back()};
  for (std::size_t i = 1; i + 1 < dims.size(); ++i) rows[0] *= dims[i];
  LANISTA_ASSIGN(const Port flat, in_shape(w, value.port, rows));
  LANISTA_ASSIGN(const Port product, layer(flat));
  List back(dims.begin() + 1, dims.end());
  back.back() = out;
  LANISTA_ASSIGN(result.port, in_shape(w, product, back));
  return result;
}

Rewrite linear_rewrite(std::string input, const Tensor& matrix, bool is_transposed, const Tensor* bias) {
  return placed_rewrite({std::move(input)}, [&matrix, is_transposed, bias](ModelWriter& w, PlacedPorts inputs) {
    return placed_linear(w, inputs[0], matrix, is_transposed, bias);
  });
}

}  // namespace lanista::formats::onnx
