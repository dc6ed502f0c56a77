#include <utility>

#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

using graph::AttrSpec;

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
  OpDef def = step_op(std::move(name), std::move(help), 0, {});
  def.role = graph::OpRole::kSource;
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
  OpDef def = source("target", "The target of the loss: class numbers or real values.");
  def.attrs = {ops::required_list("shape", 1, AttrRole::kStatic, "shape of one sample, without the batch"),
               required_text("kind", {"index", "real"}, "element kind")};
  def.infer = [](const OpArgs& args) {
    return ops::value(ops::batched(args.list("shape")), args.text("kind") == "index" ? DType::kIndex : DType::kReal);
  };
  return def;
}

OpDef buffer_update_op() {
  const auto infer = [](const OpArgs& args) -> Types {
    LANISTA_TRY(ops::require_type(args, 1, args.inputs[0], "the new value"));
    return std::vector<ValueType>{};
  };
  OpDef def = step_op("buffer_update", "Commit: the buffer takes a new value.", 2, infer);
  def.role = graph::OpRole::kCommit;
  return def;
}

}  // namespace

Result<void> add_state_ops(graph::OpTable& table) {
  LANISTA_TRY(table.add(state_source("parameter", "A trained tensor of the lane's state.")));
  LANISTA_TRY(table.add(state_source("buffer", "A tensor of the lane's state that is carried along, not trained.")));
  LANISTA_TRY(table.add(state_source("slot", "A tensor that the optimiser keeps for a parameter.")));
  LANISTA_TRY(table.add(target_op()));
  for (const Optimizer& optimizer : optimizers()) LANISTA_TRY(table.add(optimizer.rule()));
  return table.add(buffer_update_op());
}

}  // namespace lanista::autodiff
