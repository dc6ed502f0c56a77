#pragma once

#include "lanista/mutate/mutator.h"

namespace lanista::mutate {

MutatorPlugin swap_op_plugin();
MutatorPlugin widen_plugin();
MutatorPlugin deepen_plugin();
MutatorPlugin remove_plugin();
MutatorPlugin add_skip_plugin();

}  // namespace lanista::mutate
