#include "lanista/exec/backends/aten/aten_table.h"

#include "lanista/exec/backends/aten/operand_rounding.h"
#include "lanista/model/ops/op_rules.h"

namespace lanista::device {

AtenTable aten_table(const LaneKernels* kernels, Precision precision) {
  AtenTable table;
  const OperandRounding operand_rounding(precision);
  add_dense(table, operand_rounding);
  add_elementwise(table);
  add_norms(table);
  add_pools(table);
  add_moves(table);
  add_losses(table);
  if (kernels != nullptr) {
    add_lane_dense(table, *kernels, operand_rounding);
    add_lane_linear(table, *kernels, operand_rounding);
    add_lane_moves(table);
    add_lane_norms(table, *kernels);
    add_lane_elementwise(table, *kernels);
    add_lane_pools(table, *kernels);
  }
  return table;
}

std::vector<std::int64_t> axes_of(const AtenCall& call) {
  std::vector<std::int64_t> axes{0};
  for (const std::int64_t axis : call.args.list("axes")) axes.push_back(axis + 1);
  return axes;
}

std::vector<std::int64_t> inverse_of(const std::vector<std::int64_t>& axes) {
  std::vector<std::int64_t> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) back[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return back;
}

std::vector<std::int64_t> sizes_of(const Frame& frame, const graph::Shape& shape) {
  std::vector<std::int64_t> sizes{frame.lanes};
  for (const std::int64_t dim : shape.dims) sizes.push_back(dim == graph::kBatch ? frame.batch : dim);
  return sizes;
}

Tensor column_sum(const Tensor& rows) {
  return at::bmm(at::ones({rows.size(0), 1, rows.size(1)}, rows.options()), rows).squeeze(1);
}

Tensor row_sum(const Tensor& x) { return at::sum(x.contiguous(), {-1}, true); }

Tensor rows_of(const Tensor& x, std::int64_t channel) {
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < x.dim(); ++i) {
    if (i != channel) order.push_back(i);
  }
  order.push_back(channel);
  return x.permute(order).reshape({x.size(0), -1, x.size(channel)});
}

Tensor expand_channels(const Tensor& values, std::int64_t channel, std::int64_t rank) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(rank), 1);
  sizes[0] = values.size(0);
  sizes[static_cast<std::size_t>(channel)] = values.size(1);
  return values.reshape(sizes);
}

std::int64_t channel_of(const graph::Shape& shape) {
  return static_cast<std::int64_t>(graph::ops::channel_dim(shape)) + 1;
}

Tensor sigmoid_of(const Tensor& x) { return 1 / (at::exp((x * -1).contiguous()) + 1); }

}  // namespace lanista::device
