#include "lanista/base/check.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::graph {

namespace {

OpTable made() {
  OpTable table;
  for (auto* add :
       {ops::add_source_ops, ops::add_linear_ops, ops::add_conv_ops, ops::add_norm_ops, ops::add_activation_ops,
        ops::add_pool_ops, ops::add_shape_ops, ops::add_combine_ops, ops::add_sequence_ops, ops::add_piecewise_ops,
        ops::add_channel_ops, ops::add_resize_ops, ops::add_window1d_ops}) {
    const Result<void> added = add(table);
    LANISTA_CHECK(added.ok(), "two shipped operators share a name");
  }
  return table;
}

}  // namespace

// Returns a copy, because copying is several times faster than making the table.
OpTable builtin_ops() {
  static const OpTable table = made();
  return table;
}

}  // namespace lanista::graph
