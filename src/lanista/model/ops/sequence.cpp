// Operators over sequences [N, T, features] and token numbers [N, T].
#include <cmath>
#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

using List = std::vector<std::int64_t>;

/// Cosines of larger positions would lose digits (base/portable_math.h).
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 16;

Result<void> require_sequence(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  if (shape_of(args).rank() == 3) return {};
  return shape_error("input must be a sequence [N, T, features], but it is " + shape_text(args));
}

std::vector<ParamSpec> embedding_params(const OpArgs& args) {
  return {{"weight", unbatched({args.integer("vocab"), args.integer("dim")}), true, Init::kNormal, 0, 1}};
}

Result<std::vector<ValueType>> infer_embedding(const OpArgs& args) {
  const auto& [shape, dtype] = args.inputs[0];
  if (dtype != DType::kIndex || !shape.has_batch() || shape.rank() != 2) {
    return shape_error("input must be token numbers [N, T], from input(shape=[T], dtype=\"index\"), but it is " +
                       std::string(dtype == DType::kIndex ? "tokens " : "real numbers ") + shape.text());
  }
  LANISTA_TRY(require_valid_params(embedding_params(args)));
  return value(batched({shape.dims[1], args.integer("dim")}));
}

OpDef embedding_op() {
  OpDef def = named_op("embedding", "A trained vector for each token; zeros for a number outside the vocabulary.");
  def.attrs = {required_int("vocab", 1, AttrRole::kStatic, "different tokens"),
               required_int("dim", 1, AttrRole::kTunable, "features a token")};
  def.infer = infer_embedding;
  def.params = embedding_params;
  def.cost = [](const OpArgs& args) { return cost_of(args, 0); };
  def.gradient = [](GradientContext& step) {
    const Attrs attrs = selected_attrs(step.args().attrs, {"vocab"});
    step.set_param_grad("weight", step.emit("embedding_grad", {step.input(0), step.grad()}, attrs));
  };
  return def;
}

// A table of trained vectors (Radford et al., 2019), or of fixed sine waves (Vaswani et al., 2017).
std::vector<ParamSpec> positional_params(const OpArgs& args) {
  const bool learned = args.text("mode") == "learned";
  return {{"weight", unbatched(without_batch(shape_of(args))), learned, learned ? Init::kNormal : Init::kSinusoid, 0,
           0.02}};
}

OpDef positional_embedding_op() {
  OpDef def = named_op("positional_embedding", "Adds a vector for each position of a sequence.");
  def.facts = {.units = UnitFlow::kAll, .preserves_mean = true};
  AttrSpec mode;
  mode.name = "mode";
  mode.default_value = std::string("learned");
  mode.allowed = {"learned", "sinusoidal"};
  mode.help = "trained vectors, or fixed waves";
  def.attrs = {std::move(mode), derived("positions", "length of the sequence")};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_sequence(args));
    if (shape_of(args).dims[1] > kMaxPositions) {
      return shape_error("a sequence of " + std::to_string(shape_of(args).dims[1]) +
                         " positions is too long; at most " + std::to_string(kMaxPositions));
    }
    return value(shape_of(args));
  };
  def.params = positional_params;
  def.cost = elementwise_cost(1);
  def.gradient = [](GradientContext& step) {
    if (step.needs_grad(0)) step.set_input_grad(0, step.grad());
    if (step.args().text("mode") == "learned") step.set_param_grad("weight", step.emit("batch_sum", {step.grad()}));
  };
  return def;
}

OpDef scale_by_op() {
  OpDef def = named_op("scale_by", "Its input times a constant.");
  def.facts = {.units = UnitFlow::kAll, .preserves_zero = true, .preserves_mean = true};
  def.attrs = {optional_real("by", 1, AttrRole::kStatic, "the constant")};
  def.infer = infer_same;
  def.cost = elementwise_cost(1);
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    step.set_input_grad(0, step.emit("scale_by", {step.grad()}, selected_attrs(step.args().attrs, {"by"})));
  };
  return def;
}

OpDef causal_mask_op() {
  OpDef def = named_op(
      "causal_mask",
      "Minus infinity above the diagonal of square matrices, so that a softmax along the rows sees no later position.");
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_real(args));
    const auto& dims = shape_of(args).dims;
    if (dims.size() < 3 || dims.back() != dims[dims.size() - 2]) {
      return shape_error("input must be square matrices [N, ..., T, T], but it is " + shape_text(args));
    }
    return value(shape_of(args));
  };
  def.cost = elementwise_cost(1);
  def.gradient = [](GradientContext& step) {
    if (step.needs_grad(0)) step.set_input_grad(0, step.grad());
  };
  return def;
}

// Names and layouts of parameters are those of PyTorch's MultiheadAttention.
std::vector<ParamSpec> attention_params(const OpArgs& args) {
  const std::int64_t d = shape_of(args).dims.back();
  return {{"in_proj_weight", unbatched({3 * d, d}), true, Init::kUniformFanIn, d},
          {"in_proj_bias", unbatched({3 * d}), true, Init::kZeros, 0},
          {"out_proj.weight", unbatched({d, d}), true, Init::kUniformFanIn, d},
          {"out_proj.bias", unbatched({d}), true, Init::kZeros, 0}};
}

Result<std::vector<ValueType>> infer_attention(const OpArgs& args) {
  LANISTA_TRY(require_sequence(args));
  const std::int64_t t = shape_of(args).dims[1], d = shape_of(args).dims[2], heads = args.integer("heads");
  if (d % heads != 0) {
    return shape_error("heads=" + std::to_string(heads) + " must divide the features, but there are " +
                       std::to_string(d));
  }
  const double p = args.real("dropout");
  if (!(p >= 0 && p < 1)) return shape_error("dropout must lie in [0, 1), but it is " + attr_text(p));
  LANISTA_TRY(value(batched({heads, t, t})));
  LANISTA_TRY(require_valid_params(attention_params(args)));
  return value(shape_of(args));
}

// softmax(q k^T / sqrt(features a head)) v for each head (Vaswani et al., 2017). The matrices of the heads have
// five dimensions, because four would be an image, which has another memory layout.
Port attention_parts(StepContext& step) {
  const OpArgs args = step.args();
  const std::int64_t t = shape_of(args).dims[1], d = shape_of(args).dims[2];
  const std::int64_t heads = args.integer("heads"), width = d / heads;
  const Port all =
      step.emit("linear", {step.input(0), step.param("in_proj_weight"), step.param("in_proj_bias")}, {{"out", 3 * d}});
  const Port split = step.emit("reshape", {all}, {{"shape", List{t, 3, heads, width}}});
  const Port by_head = step.emit("transpose", {split}, {{"axes", List{0, 2, 3, 1, 4}}});
  const auto part = [&](std::int64_t i) {
    return step.emit("slice", {by_head}, {{"axis", std::int64_t{1}}, {"start", i}, {"end", i + 1}});
  };
  const Port query = part(0), key = part(1), content = part(2);
  Port weights = step.emit("matmul", {query, key}, {{"transpose_b", true}});
  weights = step.emit("scale_by", {weights}, {{"by", 1 / std::sqrt(static_cast<double>(width))}});
  if (args.flag("causal")) weights = step.emit("causal_mask", {weights});
  weights = step.emit("softmax", {weights});
  if (args.real("dropout") > 0) weights = step.emit("dropout", {weights}, {{"p", args.real("dropout")}});
  const Port seen = step.emit("matmul", {weights, content});
  const Port by_position = step.emit("transpose", {seen}, {{"axes", List{0, 3, 1, 2, 4}}});
  const Port joined = step.emit("reshape", {by_position}, {{"shape", List{t, d}}});
  return step.emit("linear", {joined, step.param("out_proj.weight"), step.param("out_proj.bias")}, {{"out", d}});
}

OpDef attention_op() {
  OpDef def = named_op(
      "attention", "Multi-head self-attention: each position reads from all others, or from itself and those before.");
  def.random = true;
  def.attrs = {required_int("heads", 1, AttrRole::kTunable, "heads; they divide the features"),
               optional_flag("causal", false, "no position reads from later ones"),
               optional_real("dropout", 0, AttrRole::kTunable, "probability of zero for attention weights, in [0, 1)"),
               derived("features", "features of a position")};
  def.infer = infer_attention;
  def.params = attention_params;
  def.cost = [](const OpArgs& args) {
    const double t = static_cast<double>(shape_of(args).dims[1]), d = static_cast<double>(shape_of(args).dims[2]);
    // Four products with d x d weights and two with t x t; scaling and softmax are six operations an element.
    return cost_of(args, 8 * t * d * d + 4 * t * t * d + 6 * t * t * static_cast<double>(args.integer("heads")));
  };
  def.decompose = attention_parts;
  return def;
}

}  // namespace

Result<void> add_sequence_ops(OpTable& table) {
  return add_all(table, {embedding_op(), positional_embedding_op(), scale_by_op(), causal_mask_op(), attention_op()});
}

}  // namespace lanista::graph::ops
