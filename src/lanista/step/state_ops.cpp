#include <algorithm>
#include <array>
#include <utility>

#include "lanista/graph/ops/rules.h"
#include "lanista/step/step_ops.h"

namespace lanista::step {
namespace {

using graph::AttrRole;
using graph::AttrSpec;
using graph::DType;
using graph::OpArgs;
using graph::OpDef;
using graph::ValueType;
using Types = Result<std::vector<ValueType>>;
namespace ops = graph::ops;

AttrSpec required_text(std::string name, std::vector<std::string> allowed, std::string help) {
  AttrSpec spec;
  spec.name = std::move(name);
  spec.default_value = std::string();
  spec.required = true;
  spec.allowed = std::move(allowed);
  spec.help = std::move(help);
  return spec;
}

OpDef source(std::string name, std::string help) {
  OpDef def;
  def.name = std::move(name);
  def.help = std::move(help);
  def.level = graph::OpLevel::kStep;
  def.min_inputs = 0;
  def.max_inputs = 0;
  return def;
}

OpDef state_source(std::string name, std::string help) {
  OpDef def = source(std::move(name), std::move(help));
  def.attrs = {required_text("name", {}, "as in checkpoints"),
               ops::required_list("shape", 1, AttrRole::kStatic, "canonical shape")};
  def.infer = [](const OpArgs& args) { return ops::value(ops::unbatched(args.list("shape"))); };
  return def;
}

OpDef target_op() {
  OpDef def = source("target", "What the model should have said: class numbers or real values.");
  def.attrs = {ops::required_list("shape", 1, AttrRole::kStatic, "shape of one sample, without the batch"),
               required_text("kind", {"index", "real"}, "element kind")};
  def.infer = [](const OpArgs& args) {
    return ops::value(ops::batched(args.list("shape")), args.text("kind") == "index" ? DType::kIndex : DType::kReal);
  };
  return def;
}

// Inputs come in `parts` equal runs of n tensors: parameters, gradients, then the optimiser's slots.
Types infer_update(const OpArgs& args, std::size_t parts) {
  if (args.inputs.size() % parts != 0) {
    return ops::misfit("wants " + std::to_string(parts) + " tensors for each parameter, but has " +
                       std::to_string(args.inputs.size()) + " inputs");
  }
  const std::size_t n = args.inputs.size() / parts;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (args.inputs[i].shape.has_batch()) return ops::misfit("input " + std::to_string(i) + " has a batch dimension");
    LANISTA_TRY(ops::want_type(args, i, args.inputs[i % n], i < 2 * n ? "the gradient" : "the slot"));
  }
  return std::vector<ValueType>{};
}

OpDef update_op(std::string name, std::string help, std::size_t parts) {
  OpDef def;
  def.name = std::move(name);
  def.help = std::move(help);
  def.level = graph::OpLevel::kStep;
  def.min_inputs = static_cast<int>(parts);
  def.max_inputs = -1;
  def.infer = [parts](const OpArgs& args) { return infer_update(args, parts); };
  return def;
}

OpDef buffer_update_op() {
  OpDef def;
  def.name = "buffer_update";
  def.help = "Commit: the buffer takes a new value.";
  def.level = graph::OpLevel::kStep;
  def.min_inputs = 2;
  def.max_inputs = 2;
  def.infer = [](const OpArgs& args) -> Types {
    LANISTA_TRY(ops::want_type(args, 1, args.inputs[0], "the new value"));
    return std::vector<ValueType>{};
  };
  return def;
}

}  // namespace

bool is_source(std::string_view op) {
  constexpr std::array<std::string_view, 5> kSources{"input", "parameter", "buffer", "target", "slot"};
  return std::find(kSources.begin(), kSources.end(), op) != kSources.end();
}

Result<void> add_state_ops(graph::OpTable& table) {
  LANISTA_TRY(table.add(state_source("parameter", "A trained tensor of the lane's state.")));
  LANISTA_TRY(table.add(state_source("buffer", "A tensor of the lane's state that is carried along, not trained.")));
  LANISTA_TRY(table.add(state_source("slot", "A tensor that the optimiser keeps for a parameter.")));
  LANISTA_TRY(table.add(target_op()));
  LANISTA_TRY(table.add(update_op("sgd_update", "Commit: gradient descent; a momentum slot per parameter.", 3)));
  OpDef adam = update_op("adam_update", "Commit: Adam; two moment slots per parameter.", 4);
  adam.attrs = {ops::optional_flag("decoupled", false, "weight decay acts on the parameter itself (AdamW)")};
  LANISTA_TRY(table.add(std::move(adam)));
  return table.add(buffer_update_op());
}

}  // namespace lanista::step
