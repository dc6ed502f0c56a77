#include <algorithm>
#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

// Gradient of flatten and reshape: the same elements in the shape of the input.
void reshape_gradient(GradientContext& step) {
  if (!step.needs_grad(0)) return;
  const Attrs attrs{{"shape", without_batch(shape_of(step.args()))}};
  step.set_input_grad(0, step.emit("reshape", {step.grad()}, attrs));
}

OpDef flatten_op() {
  OpDef def = named_op("flatten", "All dimensions but the batch as one.");
  def.facts = {.sign = SignRule::kAsInputs, .preserves_zero = true};
  def.is_view = true;
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_real(args));
    return value(batched({shape_of(args).elements_per_sample()}));
  };
  def.gradient = reshape_gradient;
  return def;
}

OpDef reshape_op() {
  OpDef def = named_op("reshape", "The same elements, in logical order, in another shape.");
  def.facts = {.sign = SignRule::kAsInputs, .preserves_zero = true};
  def.is_view = true;
  def.attrs = {required_list("shape", 1, AttrRole::kStatic, "the new shape, without the batch")};
  // A value without batch is a parameter that a decomposition reads in another shape.
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    const bool batch = shape_of(args).has_batch();
    if (batch || args.inputs[0].dtype != DType::kReal) LANISTA_TRY(require_real(args));
    Shape shape = batch ? batched(args.list("shape")) : unbatched(args.list("shape"));
    if (shape.elements_per_sample() != shape_of(args).elements_per_sample()) {
      return shape_error("cannot reshape " + shape_text(args) + " (" +
                         std::to_string(shape_of(args).elements_per_sample()) + " elements per sample) to " +
                         shape.text() + " (" + std::to_string(shape.elements_per_sample()) + ")");
    }
    return value(std::move(shape));
  };
  def.gradient = reshape_gradient;
  return def;
}

Result<std::vector<ValueType>> infer_transpose(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  const auto& axes = args.list("axes");
  const Shape& shape = shape_of(args);
  std::vector<bool> seen(shape.rank(), false);
  bool permutation = axes.size() == shape.rank() && axes.front() == 0;
  for (std::size_t i = 0; permutation && i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    permutation = axis < seen.size() && !seen[axis];
    if (permutation) seen[axis] = true;
  }
  if (!permutation) {
    return shape_error("axes " + attr_text(axes) + " must be a permutation of all " + std::to_string(shape.rank()) +
                       " dimensions of " + shape.text() + " that leaves the batch in front");
  }
  Shape result = shape;
  for (std::size_t i = 0; i < axes.size(); ++i) result.dims[i] = shape.dims[static_cast<std::size_t>(axes[i])];
  return value(std::move(result));
}

OpDef transpose_op() {
  OpDef def = named_op("transpose", "Dimensions in another order.");
  def.facts = keeping(UnitFlow::kTranspose);
  def.attrs = {required_list("axes", 0, AttrRole::kStatic, "for each dimension of the result, the one it comes from")};
  def.infer = infer_transpose;
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    const auto& axes = step.args().list("axes");
    std::vector<std::int64_t> inverse(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
    }
    step.set_input_grad(0, step.emit("transpose", {step.grad()}, {{"axes", std::move(inverse)}}));
  };
  return def;
}

OpDef pad_op() {
  OpDef def = named_op("pad", "Zeros around images.");
  def.facts = keeping(UnitFlow::kChannels);
  def.attrs = {required_list("pads", 0, AttrRole::kStatic, "rows and columns of zeros: top, bottom, left, right")};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_image(args));
    const auto& pads = args.list("pads");
    if (pads.size() != 4) return shape_error("pads must be [top,bottom,left,right], but it is " + attr_text(pads));
    for (const std::int64_t pad : pads) {
      if (pad > kMaxValueElements) return shape_error("a padding of " + std::to_string(pad) + " is too large");
    }
    Shape shape = shape_of(args);
    shape.dims[2] += pads[0] + pads[1];
    shape.dims[3] += pads[2] + pads[3];
    return value(std::move(shape));
  };
  def.gradient = [](GradientContext& step) {
    if (step.needs_grad(0)) {
      step.set_input_grad(0, step.emit("crop", {step.grad()}, selected_attrs(step.args().attrs, {"pads"})));
    }
  };
  return def;
}

Result<std::vector<ValueType>> infer_mean(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  const auto& axes = args.list("axes");
  const Shape& shape = shape_of(args);
  const bool ascending = std::adjacent_find(axes.begin(), axes.end(), std::greater_equal<>()) == axes.end();
  if (axes.empty() || !ascending || axes.back() >= static_cast<std::int64_t>(shape.rank())) {
    return shape_error("axes " + attr_text(axes) + " must be ascending dimensions of " + shape.text() +
                       " without the batch");
  }
  Shape result;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (!reduced) result.dims.push_back(shape.dims[i]);
    if (reduced && args.flag("keep")) result.dims.push_back(1);
  }
  return value(std::move(result));
}

OpDef mean_op() {
  OpDef def = named_op("mean", "The mean over some dimensions.");
  def.facts = keeping(UnitFlow::kReduced);
  def.attrs = {required_list("axes", 1, AttrRole::kStatic, "logical dimensions in ascending order, not the batch"),
               optional_flag("keep", false, "keep the dimensions with size 1")};
  def.infer = infer_mean;
  def.cost = cost_of_sum;
  def.gradient = sized_gradient("mean_grad", {"axes"}, "shape");
  return def;
}

OpDef slice_op() {
  OpDef def = named_op("slice", "A run of elements along an axis.");
  def.facts = {.units = UnitFlow::kSlice, .sign = SignRule::kAsInputs, .preserves_zero = true};
  def.attrs = {required_int("axis", 1, AttrRole::kStatic, "logical axis, not the batch"),
               optional_int("start", 0, -kMaxValueElements, AttrRole::kStatic, "first element; negative: from the end"),
               optional_int("end", 0, -kMaxValueElements, AttrRole::kStatic,
                            "the element behind the last; 0: all that follow; negative: from the end")};
  def.infer = [](const OpArgs& args) -> Result<std::vector<ValueType>> {
    LANISTA_TRY(require_real(args));
    LANISTA_ASSIGN(const SliceRange range, slice_range(args));
    Shape shape = shape_of(args);
    shape.dims[range.axis] = range.len;
    return value(std::move(shape));
  };
  def.gradient = [](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    const SliceRange range = *slice_range(step.args());
    step.set_input_grad(0, step.emit("slice_grad", {step.grad()},
                                     {{"axis", static_cast<std::int64_t>(range.axis)},
                                      {"start", range.begin},
                                      {"shape", without_batch(shape_of(step.args()))}}));
  };
  return def;
}

}  // namespace

Result<SliceRange> slice_range(const OpArgs& args) {
  const Shape& shape = shape_of(args);
  const auto axis = static_cast<std::size_t>(args.integer("axis"));
  if (axis >= shape.rank())
    return shape_error("axis " + std::to_string(axis) + " of " + shape.text() + " does not exist");
  const std::int64_t size = shape.dims[axis];
  std::int64_t begin = args.integer("start"), end = args.integer("end");
  if (begin < 0) begin += size;
  if (end <= 0) end += size;
  if (begin < 0 || begin >= end || end > size) {
    return shape_error("elements " + std::to_string(args.integer("start")) + " up to " +
                       std::to_string(args.integer("end")) + " (start, end) of axis " + std::to_string(axis) +
                       " are no run in " + shape.text());
  }
  return SliceRange{axis, begin, end - begin};
}

Result<void> add_shape_ops(OpTable& table) {
  return add_all(table, {flatten_op(), reshape_op(), transpose_op(), pad_op(), slice_op(), mean_op()});
}

}  // namespace lanista::graph::ops
