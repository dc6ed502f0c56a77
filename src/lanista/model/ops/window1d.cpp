// Windows over sequences [N, C, L], as their two-dimensional forms on images of one row.
#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

using List = std::vector<std::int64_t>;

AttrSpec padding() {
  return optional_list("padding", {0}, 0, AttrRole::kTunable,
                       "cells around the sequence: both ends, or [before, after]");
}

/// Returns the attributes of the two-dimensional form.
Attrs in_two_dimensions(const OpArgs& args) {
  Attrs attrs = args.attrs;
  const auto [before, after] = args.pair("padding");
  attrs.set("padding", List{0, 0, before, after});
  for (const AttrSpec& spec : args.def.attrs) {
    if (spec.name != "kernel" && spec.name != "stride" && spec.name != "dilation") continue;
    const std::int64_t along = args.integer(spec.name);
    attrs.set(spec.name, List{1, along > 0 ? along : args.integer("kernel")});
  }
  return attrs;
}

Shape one_row(const OpArgs& args) { return batched({shape_of(args).dims[1], 1, shape_of(args).dims[2]}); }

/// Calls `rule` for images of one row.
template <class Rule>
auto of_one_row(const OpArgs& args, const OpDef& flat, const Rule& rule) {
  const ValueType row{one_row(args), DType::kReal};
  const Attrs attrs = in_two_dimensions(args);
  return rule({{&row, 1}, attrs, flat});
}

/// Infers the shape. Errors of the two-dimensional form call the length width.
Result<Shape> row_result(const OpArgs& args, const OpDef& flat) {
  LANISTA_TRY(require_real(args));
  if (shape_of(args).rank() != 3)
    return shape_error("input 0 must be sequences [N, C, L], but it is " + shape_text(args));
  if (const std::size_t size = args.list("padding").size(); size != 1 && size != 2) {
    return shape_error("padding must list one or two integers, but it lists " + std::to_string(size));
  }
  LANISTA_ASSIGN(const auto types, of_one_row(args, flat, flat.infer));
  return batched({types.front().shape.dims[1], types.front().shape.dims[3]});
}

std::vector<ParamSpec> row_params(const OpArgs& args, const OpDef& conv) {
  std::vector<ParamSpec> params = of_one_row(args, conv, conv.params);
  params.front().shape.dims.erase(params.front().shape.dims.begin() + 2);  // [out, in / groups, kernel]
  return params;
}

Port reshaped(StepContext& step, Port from, const Shape& shape) {
  return step.emit("reshape", {from}, {{"shape", without_batch(shape)}});
}

/// Emits the two-dimensional operator on one row, with `params` after the data.
Port in_parts(StepContext& step, const OpDef& flat, std::vector<Port> params) {
  const OpArgs args = step.args();
  params.insert(params.begin(), reshaped(step, step.input(0), one_row(args)));
  const Port row = step.emit(flat.name, std::move(params), in_two_dimensions(args));
  return reshaped(step, row, *row_result(args, flat));
}

OpDef row_op(std::string name, std::string help, std::vector<AttrSpec> attrs, const OpDef& flat) {
  OpDef def = named_op(std::move(name), std::move(help));
  def.attrs = std::move(attrs);
  def.infer = [flat](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_ASSIGN(Shape shape, row_result(args, flat));
    return value(std::move(shape));
  };
  return def;
}

OpDef conv1d_op(const OpDef& conv) {
  OpDef def =
      row_op("conv1d", "Slides a trained window over sequences.",
             {required_int("out", 1, AttrRole::kTunable, "channels that come out"),
              optional_int("kernel", 3, 1, AttrRole::kTunable, "length of the window"),
              optional_int("stride", 1, 1, AttrRole::kTunable, "step of the window"), padding(),
              optional_int("dilation", 1, 1, AttrRole::kTunable, "distance of neighbouring cells of the window"),
              optional_int("groups", 1, 1, AttrRole::kTunable, "channel groups that do not see each other"),
              optional_flag("bias", true, "add a trained offset per channel"), derived("in", "channels that come in")},
             conv);
  def.facts = conv.facts;
  def.params = [conv](const OpArgs& args) { return row_params(args, conv); };
  def.cost = [conv](const OpArgs& args) {
    const double cells = static_cast<double>(row_result(args, conv)->elements_per_sample());
    return cost_of(args, 2 * cells * static_cast<double>(row_params(args, conv).front().fan_in));
  };
  def.decompose = [conv](StepContext& step) {
    const OpArgs args = step.args();
    const Shape weight = of_one_row(args, conv, conv.params).front().shape;
    std::vector<Port> params{reshaped(step, step.param("weight"), weight)};
    if (args.flag("bias")) params.push_back(step.param("bias"));
    return in_parts(step, conv, std::move(params));
  };
  return def;
}

}  // namespace

OpDef pool1d_op(std::string name, std::string help, const OpDef& pool) {
  std::vector<AttrSpec> attrs{
      optional_int("kernel", 2, 1, AttrRole::kTunable, "length of the window"),
      optional_int("stride", 0, 0, AttrRole::kTunable, "step of the window; 0: the kernel"), padding(),
      optional_flag("ceil_mode", false, "a last window that reaches beyond the padding counts too")};
  // Attributes that only this pooling has follow those of every pooling.
  for (std::size_t i = attrs.size(); i < pool.attrs.size(); ++i) attrs.push_back(pool.attrs[i]);
  OpDef def = row_op(std::move(name), std::move(help), std::move(attrs), pool);
  def.facts = pool.facts;
  def.exports.onnx = pool.exports.onnx;
  def.cost = [pool](const OpArgs& args) {
    const double cells = static_cast<double>(row_result(args, pool)->elements_per_sample());
    return cost_of(args, cells * static_cast<double>(args.integer("kernel")));
  };
  def.decompose = [pool](StepContext& step) { return in_parts(step, pool, {}); };
  return def;
}

Result<void> add_window1d_ops(OpTable& table) { return table.add(conv1d_op(*table.find("conv2d"))); }

}  // namespace lanista::graph::ops
