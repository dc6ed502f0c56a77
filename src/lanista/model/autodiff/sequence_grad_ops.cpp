#include <utility>

#include "lanista/model/autodiff/step_ops.h"

namespace lanista::autodiff {
namespace {

// Tokens [N, T] and dy [N, T, features].
Types infer_embedding_grad(const OpArgs& args) {
  LANISTA_TRY(ops::require_real(args, 1));
  Shape tokens = ops::shape_of(args, 1);
  const std::int64_t features = tokens.dims.back();
  tokens.dims.pop_back();
  LANISTA_TRY(ops::require_type(args, 0, {tokens, DType::kIndex}, "the tokens"));
  return ops::value(ops::unbatched({args.integer("vocab"), features}));
}

Types infer_batch_sum(const OpArgs& args) {
  LANISTA_TRY(ops::require_real(args));
  if (ops::shape_of(args).rank() < 2)
    return ops::shape_error("dy " + ops::shape_text(args) + " has nothing but a batch");
  return ops::value(ops::unbatched(ops::without_batch(ops::shape_of(args))));
}

}  // namespace

Result<void> add_sequence_grad_ops(graph::OpTable& table) {
  OpDef embedding = step_op("embedding_grad", "Adds dy up by token.", 2, infer_embedding_grad);
  embedding.attrs = {ops::required_int("vocab", 1, graph::AttrRole::kStatic, "different tokens")};
  LANISTA_TRY(table.add(std::move(embedding)));
  return table.add(
      step_op("batch_sum", "Sums over the batch: the gradient of what all samples share.", 1, infer_batch_sum));
}

}  // namespace lanista::autodiff
