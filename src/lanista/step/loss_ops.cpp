#include <utility>

#include "lanista/graph/ops/rules.h"
#include "lanista/step/step_ops.h"

namespace lanista::step {
namespace {

using graph::DType;
using graph::OpArgs;
using graph::OpDef;
using graph::Shape;
using graph::ValueType;
using Types = Result<std::vector<ValueType>>;
namespace ops = graph::ops;

OpDef loss_op(std::string name, std::string help, std::function<Types(const OpArgs&)> infer) {
  OpDef def;
  def.name = std::move(name);
  def.help = std::move(help);
  def.level = graph::OpLevel::kStep;
  def.min_inputs = 2;
  def.max_inputs = 2;
  def.infer = std::move(infer);
  return def;
}

ValueType per_sample(DType dtype) { return {Shape{{graph::kBatch}}, dtype}; }

Result<void> want_classes(const OpArgs& args) {
  LANISTA_TRY(ops::want_real(args));
  const Shape& shape = ops::shape_of(args);
  if (shape.rank() != 2 || shape.dims[1] < 2) {
    return ops::misfit("cross-entropy wants [N, classes] with at least two classes, but has " + shape.text());
  }
  return ops::want_type(args, 1, per_sample(DType::kIndex), "the target");
}

Types infer_cross_entropy(const OpArgs& args) {
  LANISTA_TRY(want_classes(args));
  return ops::values({per_sample(DType::kReal), args.inputs[0]});
}

Types infer_cross_entropy_grad(const OpArgs& args) {
  LANISTA_TRY(want_classes(args));
  return ops::value(ops::shape_of(args));
}

Types infer_mse(const OpArgs& args) {
  LANISTA_TRY(ops::want_same_shapes(args));
  return ops::values({per_sample(DType::kReal)});
}

}  // namespace

Result<void> add_loss_ops(graph::OpTable& table) {
  LANISTA_TRY(table.add(
      loss_op("cross_entropy", "Loss of each sample in nats, and the class probabilities.", infer_cross_entropy)));
  LANISTA_TRY(table.add(loss_op("cross_entropy_grad", "Gradient of a batch's mean cross-entropy by the logits.",
                                infer_cross_entropy_grad)));
  LANISTA_TRY(table.add(loss_op("mse", "Mean squared error of each sample.", infer_mse)));
  return table.add(
      loss_op("mse_grad", "Gradient of a batch's mean squared error by the prediction.", ops::infer_all_equal));
}

}  // namespace lanista::step
