#pragma once

#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// Adds an opaque operator to `table`: one that a kernel of the caller computes. It gets a gradient rule.
///
/// The caller sets name, attributes, shape inference and parameters of `def`, if any. Inputs and the one output are
/// real tensors, the output has a batch dimension, and the number of inputs is fixed. The function also adds the step
/// operator `<name>_grad` for the kernel of the backward pass. That operator reads the inputs, the parameters and the
/// output gradient. It gives the gradients of all inputs, then of all trained parameters. Errors: kAlreadyExists for a
/// known name. It is kInvalidArgument as in `OpTable::add`, or if `def` has a gradient, a decomposition, a train form
/// or buffer updates, or if the number of inputs is variable or 0. If only `<name>_grad` is known, `def` stays in the
/// table.
Result<void> add_opaque(OpTable& table, OpDef def);

}  // namespace lanista::graph
