#include <utility>

#include "lanista/base/check.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/step_ops.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::autodiff {

graph::OpTable training_ops(const graph::OpTable& model_ops) {
  graph::OpTable table = model_ops;
  for (auto* add : {add_state_ops, add_linear_grad_ops, add_norm_train_ops, add_other_grad_ops, add_sequence_grad_ops,
                    add_image_grad_ops}) {
    const Result<void> added = add(table);
    LANISTA_CHECK(added.ok(), "the operators of steps: " + added.error().text());
  }
  for (const std::string& name : model_ops.names()) {
    for (const OpDef& def : model_ops.find(name)->step_ops) {
      // Operators that share a definition have the same step operators.
      const OpDef* known = table.find(def.name);
      if (known != nullptr && known->level == graph::OpLevel::kStep) continue;
      const Result<void> added = table.add(def);
      LANISTA_CHECK(added.ok(), "the step operators of " + name + ": " + (added.ok() ? "" : added.error().text()));
    }
  }
  for (const Loss& loss : losses()) {
    for (const OpDef* def : {&loss.forward, &loss.gradient}) {
      const Result<void> added = table.add(*def);
      LANISTA_CHECK(added.ok(), "the operators of losses: " + (added.ok() ? "" : added.error().text()));
    }
  }
  return table;
}

OpDef step_op(std::string name, std::string help, int num_inputs, std::function<Types(const OpArgs&)> infer) {
  OpDef def = ops::named_op(std::move(name), std::move(help), num_inputs);
  def.level = graph::OpLevel::kStep;
  def.infer = std::move(infer);
  return def;
}

}  // namespace lanista::autodiff
