#pragma once

#include "lanista/model/mutate/mutator.h"

namespace lanista::mutate {

/// Mutator: replaces an operator by another of its group, such as relu by gelu.
MutatorPlugin swap_op_plugin();
/// Mutator: multiplies the width of a hidden linear or convolutional layer by a factor.
MutatorPlugin widen_plugin();
/// Mutator: adds a layer of the same width and an activation after a hidden layer. The new layer is linear, a
/// convolution, or a copy of the hidden layer.
MutatorPlugin deepen_plugin();
/// Mutator: removes an activation, a normalisation, a dropout, a pool, a skip connection, or a layer that keeps the
/// shape.
MutatorPlugin remove_plugin();
/// Mutator: adds a skip connection, which is the sum of a value and an earlier value after shape repair.
MutatorPlugin add_skip_plugin();
/// Mutator: changes operators or attributes as its options specify.
MutatorPlugin operator_plugin();
/// Mutator: connects an input of a node to another earlier value, or adds one, as its options specify.
MutatorPlugin input_plugin();
/// Mutator: inserts layers as its options specify.
MutatorPlugin insert_plugin();
/// Mutator: replaces chains of layers as its options specify.
MutatorPlugin replace_plugin();
/// Mutator: duplicates chains of layers as its options specify.
MutatorPlugin duplicate_plugin();

}  // namespace lanista::mutate
