#include <utility>

#include "lanista/base/check.h"
#include "lanista/step/step_ops.h"
#include "lanista/step/training_step.h"

namespace lanista::step {

graph::OpTable training_ops(const graph::OpTable& model_ops) {
  graph::OpTable table = model_ops;
  for (auto* add : {add_state_ops, add_loss_ops, add_linear_grad_ops, add_norm_train_ops, add_other_grad_ops,
                    add_sequence_grad_ops, add_image_grad_ops}) {
    const Result<void> added = add(table);
    LANISTA_CHECK(added.ok(), "the operators of steps: " + added.error().text());
  }
  return table;
}

graph::OpDef step_op(std::string name, std::string help, int num_inputs,
                     std::function<Result<std::vector<graph::ValueType>>(const graph::OpArgs&)> infer) {
  graph::OpDef def;
  def.name = std::move(name);
  def.help = std::move(help);
  def.level = graph::OpLevel::kStep;
  def.min_inputs = num_inputs;
  def.max_inputs = num_inputs;
  def.infer = std::move(infer);
  return def;
}

}  // namespace lanista::step
