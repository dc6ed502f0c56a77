#include "lanista/model/graph/opaque.h"

#include <utility>

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph {
namespace {

using Types = Result<std::vector<ValueType>>;

std::vector<ParamSpec> params_of(const OpDef& def, const OpArgs& args) {
  return def.params ? def.params(args) : std::vector<ParamSpec>{};
}

Types checked_types(const OpDef& own, const OpArgs& args) {
  for (std::size_t i = 0; i < args.inputs.size(); ++i) LANISTA_TRY(ops::require_real(args, i));
  LANISTA_ASSIGN(std::vector<ValueType> types, own.infer(args));
  if (types.size() == 1 && types[0].dtype == DType::kReal && types[0].shape.has_batch()) return types;
  return ops::shape_error("an opaque operator gives one value of real numbers with a batch dimension");
}

// Emits one node for the backward kernel and sets its outputs as gradients.
void gradient(GradientContext& step) {
  const OpArgs args = step.args();
  const std::vector<ParamSpec> params = params_of(args.def, args);
  bool wanted = false;
  std::vector<Port> inputs;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    inputs.push_back(step.input(i));
    wanted = wanted || step.needs_grad(i);
  }
  for (const ParamSpec& param : params) {
    inputs.push_back(step.param(param.name));
    wanted = wanted || param.trained;
  }
  if (!wanted) return;
  inputs.push_back(step.grad());
  Port result = step.emit(args.def.name + "_grad", std::move(inputs), args.attrs);
  for (std::size_t i = 0; i < args.inputs.size(); ++i, ++result.slot) {
    if (step.needs_grad(i)) step.set_input_grad(i, result);
  }
  for (const ParamSpec& param : params) {
    if (!param.trained) continue;
    step.set_param_grad(param.name, result);
    ++result.slot;
  }
}

OpDef backward_of(const OpDef& own) {
  OpDef def = ops::named_op(own.name + "_grad", "Gradients of " + own.name + " by its inputs and parameters.",
                            own.min_inputs + 1);
  def.level = OpLevel::kStep;
  def.max_inputs = -1;
  def.attrs = own.attrs;
  def.infer = [own](const OpArgs& args) -> Types {
    const OpArgs forward{args.inputs.first(static_cast<std::size_t>(own.min_inputs)), args.attrs, own};
    LANISTA_ASSIGN(const std::vector<ValueType> output, checked_types(own, forward));
    const std::vector<ParamSpec> params = params_of(own, forward);
    const std::size_t wanted = forward.inputs.size() + params.size() + 1;
    if (args.inputs.size() != wanted) {
      return ops::shape_error("needs its " + std::to_string(params.size()) + " parameters and dy after the inputs");
    }
    std::vector<ValueType> types(forward.inputs.begin(), forward.inputs.end());
    for (std::size_t i = 0; i < params.size(); ++i) {
      const ValueType type{params[i].shape, DType::kReal};
      LANISTA_TRY(ops::require_type(args, forward.inputs.size() + i, type, "parameter " + params[i].name));
      if (params[i].trained) types.push_back(type);
    }
    LANISTA_TRY(ops::require_type(args, wanted - 1, output[0], "dy"));
    return ops::values(std::move(types));
  };
  return def;
}

}  // namespace

Result<void> add_opaque(OpTable& table, OpDef def) {
  const auto refuse = [&](const std::string& why) {
    return Error{Code::kInvalidArgument, "operator " + in_quotes(def.name) + ": " + why, ""};
  };
  if (def.gradient || def.decompose || !def.train_form.empty() || !def.buffer_updates.empty()) {
    return refuse("an opaque operator has a kernel in place of a gradient rule, parts, train form or buffer updates");
  }
  if (def.min_inputs < 1 || def.min_inputs != def.max_inputs) {
    return refuse("an opaque operator has a fixed number of inputs, at least one");
  }
  if (!def.infer) return table.add(std::move(def));
  OpDef backward = backward_of(def);
  def.gradient = gradient;
  def.infer = [own = def](const OpArgs& args) { return checked_types(own, args); };
  LANISTA_TRY(table.add(std::move(def)));
  return table.add(std::move(backward));
}

}  // namespace lanista::graph
