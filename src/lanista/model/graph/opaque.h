#pragma once

#include "lanista/model/graph/op.h"

namespace lanista::graph {

/// Adds an operator whose numbers come from a kernel of the caller's, and `<name>_grad`, the operator of steps that
/// stands for the backward half of that kernel: its inputs are those of the operator, its parameters and dy; its
/// outputs are the gradients of every input, then of every trained parameter.
///
/// `def` brings name, attributes, inference, and parameters if it has any; the gradient rule is made here. Inputs are
/// real numbers and fixed in count, and there is one output of real numbers.
/// Errors: OpTable::add's; kInvalidArgument for a definition that brings a gradient, a decomposition, a train form or
/// buffers that steps renew, or takes a variable number of inputs or none.
Result<void> add_opaque(OpTable& table, OpDef def);

}  // namespace lanista::graph
