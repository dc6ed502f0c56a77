#include "lanista/model/mutate/builtin.h"

namespace lanista::mutate {

std::vector<MutatorPlugin> builtin_mutators() {
  return {swap_op_plugin(),  widen_plugin(), deepen_plugin(), remove_plugin(),  add_skip_plugin(),
          operator_plugin(), input_plugin(), insert_plugin(), replace_plugin(), duplicate_plugin()};
}

}  // namespace lanista::mutate
