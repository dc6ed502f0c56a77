#include "lanista/base/check.h"
#include "lanista/graph/ops/rules.h"

namespace lanista::graph {

OpTable builtin_ops() {
  OpTable table;
  for (auto* add : {ops::add_source_ops, ops::add_linear_ops, ops::add_conv_ops, ops::add_norm_ops,
                    ops::add_activation_ops, ops::add_pool_ops, ops::add_shape_ops, ops::add_combine_ops}) {
    const Result<void> added = add(table);
    LANISTA_CHECK(added.ok(), "two shipped operators share a name");
  }
  return table;
}

}  // namespace lanista::graph
