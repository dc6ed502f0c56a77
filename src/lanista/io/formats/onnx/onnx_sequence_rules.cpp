// Sequences: rows of a table by token number.
#include <limits>
#include <utility>

#include "lanista/io/formats/onnx/onnx_rules.h"
#include "lanista/io/formats/onnx/onnx_tensor.h"

namespace lanista::formats::onnx {
RewriteResult embedding_gather(const NodeReader& node_reader) {
  LANISTA_TRY(node_reader.allow_attributes({"axis"}));
  LANISTA_TRY(node_reader.require_value("axis", 0));
  LANISTA_ASSIGN(const Tensor* table, node_reader.weight(0));
  LANISTA_ASSIGN(std::string tokens, node_reader.computed_input(1));
  if (table->shape.size() != 2) {
    return unsupported("its table has the shape " + graph::Shape{table->shape}.text() +
                       "; read are [tokens, features]");
  }
  return single_operator({std::move(tokens)}, "embedding", {{"vocab", table->shape[0]}, {"dim", table->shape[1]}},
                         {table});
}

namespace {

/// Whether input `i` is a constant with one given integer.
bool is_integer(const NodeReader& node_reader, std::size_t i, std::int64_t number) {
  const auto list = node_reader.has(i) ? node_reader.integers(i) : Result<List>(List{});
  return list.ok() && *list == List{number};
}

/// Lanista's form of an embedding: Where(Unsqueeze(tokens == t), Gather(table, t), 0) of t = Clip(tokens, 0, vocab -
/// 1).
Result<Rewrite> embedding_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const auto& names = node_reader.node().inputs;
  const Tensor* none = names.size() == 3 ? view.constant(names[2]) : nullptr;
  if (none == nullptr || none->shape.size() > 1 || view.scalar(names[2]) != 0.0F) return Rewrite{};
  const OnnxNode* wide = view.producer(names[0], "Unsqueeze");
  const OnnxNode* known =
      wide != nullptr && wide->inputs.size() == 2 ? view.producer(wide->inputs[0], "Equal") : nullptr;
  const OnnxNode* vectors = view.producer(names[1], "Gather");
  if (known == nullptr || known->inputs.size() != 2 || vectors == nullptr || vectors->inputs.size() != 2)
    return Rewrite{};
  const std::string& token = vectors->inputs[1];
  const OnnxNode* clip = view.producer(token, "Clip");
  const bool same = clip != nullptr && clip->inputs.size() == 3 && known->inputs[0] == clip->inputs[0] &&
                    known->inputs[1] == token && is_integer(NodeReader(view, *wide), 1, 2);
  if (!same) return Rewrite{};
  const NodeReader table(view, *vectors);
  LANISTA_ASSIGN(const Tensor* weight, table.weight(0));
  LANISTA_TRY(table.require_value("axis", 0));
  if (weight->shape.size() != 2) return Rewrite{};
  const NodeReader range(view, *clip);
  if (!is_integer(range, 1, 0) || !is_integer(range, 2, weight->shape[0] - 1)) return Rewrite{};
  return single_operator({clip->inputs[0]}, "embedding", {{"vocab", weight->shape[0]}, {"dim", weight->shape[1]}},
                         {weight});
}

/// Whether it is minus infinity above the diagonal of a square, and zero elsewhere.
bool is_causal(const Tensor& mask) {
  const List& shape = mask.shape;
  if (mask.type != ElementType::kF32 || shape.size() < 2 || shape.back() < 2) return false;
  if (shape.back() != shape[shape.size() - 2] || product(shape) != shape.back() * shape.back()) return false;
  const auto numbers = elements_of<float>(mask);
  const auto length = static_cast<std::size_t>(shape.back());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const float expected = i % length > i / length ? -std::numeric_limits<float>::infinity() : 0;
    if (numbers[i] != expected) return false;
  }
  return true;
}

}  // namespace

Result<Rewrite> causal_mask_group(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const auto& names = node_reader.node().inputs;
  for (const std::size_t i : {0U, 1U}) {
    const Tensor* mask = names.size() == 2 ? view.constant(names[i]) : nullptr;
    if (mask == nullptr || !is_causal(*mask)) continue;
    std::string source = names[1 - i];
    // The value may be cleared before the mask is added, so that only the mask remains above the diagonal.
    const OnnxNode* below = view.producer(source, "Trilu");
    if (below != nullptr && below->inputs.size() == 1) {
      LANISTA_TRY(NodeReader(view, *below).allow_attributes({"upper"}));
      LANISTA_TRY(NodeReader(view, *below).require_value("upper", 0));
      source = below->inputs[0];
    }
    const List shape = mask->shape;
    return placed_rewrite({std::move(source)}, [shape](ModelWriter& w, PlacedPorts inputs) -> Result<PlacedPort> {
      PlacedPort value = inputs[0];
      const List& dims = w.dims(value.port);
      const bool fits = shape.size() <= dims.size() && dims.back() == shape.back() && dims.size() > 2 &&
                        dims[dims.size() - 2] == shape.back() && value.place.axis + 2 < file_rank(w, value);
      if (!fits) return unsupported("its mask would stretch " + sizes_text(dims));
      LANISTA_ASSIGN(value.port, w.add("causal_mask", {value.port}));
      return value;
    });
  }
  return Rewrite{};
}

RewriteResult guarded_softmax(const NodeReader& node_reader) {
  const OnnxView& view = node_reader.view();
  const auto& names = node_reader.node().inputs;
  const OnnxNode* test = names.size() == 3 ? view.producer(names[0], "IsNaN") : nullptr;
  if (test == nullptr || test->inputs.size() != 1 || test->inputs[0] != names[2]) return Rewrite{};
  if (view.producer(names[2], "Softmax") == nullptr || view.constant(names[1]) == nullptr) return Rewrite{};
  return placed_rewrite({names[2]}, [](ModelWriter&, PlacedPorts inputs) -> Result<PlacedPort> { return inputs[0]; });
}

RewriteRules sequence_rules() { return {{"Where", {embedding_group, guarded_softmax, piecewise_group}}}; }

}  // namespace lanista::formats::onnx
