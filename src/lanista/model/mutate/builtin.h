#pragma once

#include "lanista/model/mutate/mutator.h"

namespace lanista::mutate {

MutatorPlugin swap_op_plugin();
MutatorPlugin widen_plugin();
MutatorPlugin deepen_plugin();
MutatorPlugin remove_plugin();
MutatorPlugin add_skip_plugin();
MutatorPlugin operator_plugin();
MutatorPlugin input_plugin();
MutatorPlugin insert_plugin();
MutatorPlugin replace_plugin();
MutatorPlugin duplicate_plugin();

}  // namespace lanista::mutate
