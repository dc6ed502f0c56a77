#pragma once

#include "lanista/model/mutate/mutator.h"

namespace lanista::mutate {

/// Replaces an operator by another of its family.
MutatorPlugin swap_op_plugin();
/// Changes the width of a layer.
MutatorPlugin widen_plugin();
/// Inserts a layer of the model's kind.
MutatorPlugin deepen_plugin();
/// Removes a layer.
MutatorPlugin remove_plugin();
/// Adds a skip connection.
MutatorPlugin add_skip_plugin();
/// Changes operators or attributes as options specify.
MutatorPlugin operator_plugin();
/// Changes the inputs of joins as options specify.
MutatorPlugin input_plugin();
/// Inserts layers as options specify.
MutatorPlugin insert_plugin();
/// Replaces chains of layers as options specify.
MutatorPlugin replace_plugin();
/// Duplicates chains of layers as options specify.
MutatorPlugin duplicate_plugin();

}  // namespace lanista::mutate
