#pragma once

#include "lanista/model/mutate/mutator.h"

namespace lanista::mutate {

/// Mutator: replaces an operator by another of its group, such as relu by gelu.
MutatorPlugin swap_op_plugin();
/// Mutator: changes the width of a layer.
MutatorPlugin widen_plugin();
/// Mutator: inserts a layer of a kind that the model already has.
MutatorPlugin deepen_plugin();
/// Mutator: removes a layer.
MutatorPlugin remove_plugin();
/// Mutator: adds a skip connection.
MutatorPlugin add_skip_plugin();
/// Mutator: changes operators or attributes as its options specify.
MutatorPlugin operator_plugin();
/// Mutator: changes the inputs of joins as its options specify.
MutatorPlugin input_plugin();
/// Mutator: inserts layers as its options specify.
MutatorPlugin insert_plugin();
/// Mutator: replaces chains of layers as its options specify.
MutatorPlugin replace_plugin();
/// Mutator: duplicates chains of layers as its options specify.
MutatorPlugin duplicate_plugin();

}  // namespace lanista::mutate
