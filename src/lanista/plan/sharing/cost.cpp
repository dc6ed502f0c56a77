#include "lanista/plan/sharing/cost.h"

#include <algorithm>

namespace lanista::sharing {
namespace {

double lane_us(const plan::Costs& costs, const OperatorWork& work, std::size_t lanes) {
  const plan::CostRow* row =
      costs.table.rows().empty() ? nullptr : costs.find(work_text(work), static_cast<std::int64_t>(lanes));
  return row != nullptr ? row->microseconds
                        : costs.prices.us(work.flops, work.in_bytes + work.other_bytes, work.launches);
}

}  // namespace

std::string work_text(const OperatorWork& work) {
  const char* both = work.input_grad ? "weight_grad, input_grad" : "weight_grad";
  return plan::work_text(*work.operation, work.inputs, work.batch,
                         work.weight_grad  ? both
                         : work.input_grad ? "input_grad"
                                           : "");
}

double op_us(const plan::Costs& costs, std::span<const OperatorWork* const> lanes) {
  double us = 0;
  for (const OperatorWork* work : lanes) us += work->host_us + std::max(0.0, lane_us(costs, *work, lanes.size()));
  return us;
}

}  // namespace lanista::sharing
