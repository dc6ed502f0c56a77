#include "lanista/model/ops/op_rules.h"

#include <utility>

namespace lanista::graph::ops {
namespace {

AttrSpec spec(std::string name, AttrRole role, AttrValue value, bool required, std::int64_t min, std::string help) {
  AttrSpec result;
  result.name = std::move(name);
  result.role = role;
  result.default_value = std::move(value);
  result.required = required;
  result.min = min;
  result.help = std::move(help);
  return result;
}

}  // namespace

Error shape_error(std::string message) { return Error{Code::kInvalidArgument, std::move(message), ""}; }

OpDef named_op(std::string name, std::string help, int num_inputs) {
  OpDef def;
  def.name = std::move(name);
  def.help = std::move(help);
  def.min_inputs = num_inputs;
  def.max_inputs = num_inputs;
  return def;
}

Result<void> add_all(OpTable& table, std::vector<OpDef> defs) {
  for (OpDef& def : defs) LANISTA_TRY(table.add(std::move(def)));
  return {};
}

AttrSpec required_int(std::string name, std::int64_t min, AttrRole role, std::string help) {
  return spec(std::move(name), role, std::int64_t{min}, true, min, std::move(help));
}

AttrSpec optional_int(std::string name, std::int64_t value, std::int64_t min, AttrRole role, std::string help) {
  return spec(std::move(name), role, value, false, min, std::move(help));
}

AttrSpec required_list(std::string name, std::int64_t min, AttrRole role, std::string help) {
  return spec(std::move(name), role, std::vector<std::int64_t>{}, true, min, std::move(help));
}

AttrSpec optional_list(std::string name, std::vector<std::int64_t> value, std::int64_t min, AttrRole role,
                       std::string help) {
  return spec(std::move(name), role, std::move(value), false, min, std::move(help));
}

AttrSpec optional_real(std::string name, double value, AttrRole role, std::string help) {
  return spec(std::move(name), role, value, false, 0, std::move(help));
}

AttrSpec optional_flag(std::string name, bool value, std::string help) {
  return spec(std::move(name), AttrRole::kStatic, value, false, 0, std::move(help));
}

AttrSpec one_of(std::string name, std::vector<std::string> allowed, std::string help) {
  AttrSpec result = spec(std::move(name), AttrRole::kStatic, allowed.front(), false, 0, std::move(help));
  result.allowed = std::move(allowed);
  return result;
}

AttrSpec derived(std::string name, std::string help) {
  return spec(std::move(name), AttrRole::kDerived, std::int64_t{0}, false, 0, std::move(help));
}

Result<std::vector<ValueType>> value(Shape shape, DType dtype) { return values({ValueType{std::move(shape), dtype}}); }

Result<std::vector<ValueType>> values(std::vector<ValueType> types) {
  for (const ValueType& type : types) {
    for (std::size_t i = type.shape.has_batch() ? 1 : 0; i < type.shape.rank(); ++i) {
      if (type.shape.dims[i] < 1)
        return shape_error("a result of shape " + type.shape.text() + " has an empty dimension");
    }
    if (type.shape.elements_per_sample() > kMaxValueElements) {
      return shape_error("a result of shape " + type.shape.text() + " has more than " +
                         std::to_string(kMaxValueElements) + " elements per sample");
    }
  }
  return types;
}

Result<void> require_real(const OpArgs& args, std::size_t i) {
  const ValueType& type = args.inputs[i];
  if (type.dtype != DType::kReal || !type.shape.has_batch()) {
    return shape_error("input " + std::to_string(i) + " must be real numbers with a batch dimension, but it is " +
                       (type.dtype == DType::kReal    ? ""
                        : type.dtype == DType::kIndex ? "class numbers or tokens "
                                                      : "bytes ") +
                       type.shape.text());
  }
  return {};
}

Result<void> require_same_shapes(const OpArgs& args) {
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    LANISTA_TRY(require_real(args, i));
    if (shape_of(args, i) != shape_of(args, 0)) {
      return shape_error("inputs must have one shape, but input 0 is " + shape_text(args, 0) + " and input " +
                         std::to_string(i) + " is " + shape_text(args, i));
    }
  }
  return {};
}

Result<void> require_image(const OpArgs& args, std::size_t i) {
  LANISTA_TRY(require_real(args, i));
  if (shape_of(args, i).rank() != 4) {
    return shape_error("input " + std::to_string(i) + " must be images [N, C, H, W], but it is " + shape_text(args, i));
  }
  return {};
}

Result<void> require_type(const OpArgs& args, std::size_t i, const ValueType& type, std::string_view what) {
  if (args.inputs[i] == type) return {};
  std::string message = std::string(what) + " (input " + std::to_string(i) + ") must be " + type.shape.text();
  if (args.inputs[i].dtype != type.dtype) message += " of another element kind";
  return shape_error(message + ", but it is " + shape_text(args, i));
}

Result<void> require_valid_params(const std::vector<ParamSpec>& params) {
  for (const ParamSpec& param : params) {
    if (param.shape.elements_per_sample() > kMaxValueElements) {
      return shape_error("parameter " + param.name + " of shape " + param.shape.text() + " has more than " +
                         std::to_string(kMaxValueElements) + " elements");
    }
  }
  return {};
}

const Shape& shape_of(const OpArgs& args, std::size_t i) { return args.inputs[i].shape; }

std::string shape_text(const OpArgs& args, std::size_t i) { return shape_of(args, i).text(); }

std::string size_pair_text(std::int64_t a, std::int64_t b) { return std::to_string(a) + "x" + std::to_string(b); }

Shape unbatched(std::vector<std::int64_t> dims) { return Shape{std::move(dims)}; }

Shape batched(std::vector<std::int64_t> dims) {
  dims.insert(dims.begin(), kBatch);
  return Shape{std::move(dims)};
}

std::vector<std::int64_t> without_batch(const Shape& shape) {
  return {shape.dims.begin() + (shape.has_batch() ? 1 : 0), shape.dims.end()};
}

std::size_t channel_dim(const Shape& shape) { return shape.rank() == 4 ? 1 : shape.rank() - 1; }

Attrs selected_attrs(const Attrs& from, const std::vector<std::string_view>& names) {
  Attrs result;
  for (std::string_view name : names) {
    if (const AttrValue* found = from.find(name)) result.set(name, *found);
  }
  return result;
}

Cost cost_of(const OpArgs& args, double flops) {
  constexpr double kBytesPerElement = 4;
  double elements = 0;
  for (const ValueType& type : args.inputs) elements += static_cast<double>(type.shape.elements_per_sample());
  if (auto outputs = args.def.infer(args)) {
    for (const ValueType& type : *outputs) elements += static_cast<double>(type.shape.elements_per_sample());
  }
  if (args.def.params) {
    for (const ParamSpec& param : args.def.params(args)) {
      elements += static_cast<double>(param.shape.elements_per_sample());
    }
  }
  return Cost{.flops = flops, .bytes = kBytesPerElement * elements};
}

Cost cost_of_sum(const OpArgs& args) {
  return cost_of(args, static_cast<double>(shape_of(args).elements_per_sample()));
}

std::function<Cost(const OpArgs&)> elementwise_cost(double per_element) {
  return [per_element](const OpArgs& args) {
    const auto outputs = args.def.infer(args);
    const double elements = outputs ? static_cast<double>(outputs->front().shape.elements_per_sample()) : 0;
    return cost_of(args, per_element * elements);
  };
}

Result<std::vector<ValueType>> infer_same(const OpArgs& args) {
  LANISTA_TRY(require_real(args));
  return value(shape_of(args));
}

Result<std::vector<ValueType>> infer_all_equal(const OpArgs& args) {
  LANISTA_TRY(require_same_shapes(args));
  return value(shape_of(args));
}

AttrSpec input_size() { return required_list("input_size", 1, AttrRole::kStatic, "[C, H, W] of the forward input"); }

Result<std::vector<ValueType>> infer_of_input_size(const OpArgs& args) {
  LANISTA_TRY(require_image(args));
  const auto& size = args.list("input_size");
  if (size.size() != 3 || size[0] != shape_of(args).dims[1]) {
    return shape_error("input_size " + attr_text(size) + " must be [C, H, W] with the channels of dy " +
                       shape_text(args));
  }
  return value(batched(size));
}

std::function<void(GradientContext&)> sized_gradient(std::string op, std::vector<std::string> names, std::string size,
                                                     bool reads_index) {
  return [=](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    Attrs attrs = selected_attrs(step.args().attrs, {names.begin(), names.end()});
    attrs.set(size, without_batch(shape_of(step.args())));
    std::vector<Port> inputs{step.grad()};
    if (reads_index) inputs.insert(inputs.begin(), step.output(1));
    step.set_input_grad(0, step.emit(op, std::move(inputs), std::move(attrs)));
  };
}

void add_elementwise_gradient(OpDef& def, SavedValue saved) {
  OpDef grad = named_op(def.name + "_grad", "Gradient of " + def.name + ".", 2);
  grad.level = OpLevel::kStep;
  grad.attrs = def.attrs;
  grad.infer = [](const OpArgs& args) { return infer_all_equal(args); };
  def.gradient = [op = grad.name, saved](GradientContext& step) {
    if (!step.needs_grad(0)) return;
    const Port value = saved == SavedValue::kInput ? step.input(0) : step.output();
    step.set_input_grad(0, step.emit(op, {value, step.grad()}, step.args().attrs));
  };
  def.step_ops.push_back(std::move(grad));
}

}  // namespace lanista::graph::ops
