#pragma once

#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// Adds an opaque operator, which is computed by a kernel of the caller, together with its gradient rule.
///
/// `def` has name, attributes, shape inference and parameters, if any. Inputs and the one output are real tensors, and
/// the number of inputs is fixed. The function also adds the step operator `<name>_grad` for the backward kernel. Its
/// inputs are the inputs, the parameters and the output gradient. Its outputs are the gradients of all inputs, then of
/// all trained parameters.
/// Errors: those of `OpTable::add`; kInvalidArgument if `def` has a gradient, a decomposition, a train form or buffer
/// updates, or if its number of inputs is variable or 0.
Result<void> add_opaque(OpTable& table, OpDef def);

}  // namespace lanista::graph
