#include "lanista/plan/sharing/table_cost.h"

#include <algorithm>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::sharing {
namespace {

constexpr double kBytesPerUs = 1e3;  ///< bytes in a microsecond at 1 GB/s

}  // namespace

std::string work_text(const OperatorWork& work) {
  std::string text = work.operation->op;
  std::string attrs;
  for (const auto& [name, value] : work.operation->attrs) {
    attrs += (attrs.empty() ? "" : ", ") + name + "=" + graph::attr_text(value);
  }
  if (!attrs.empty()) text += "(" + attrs + ")";
  for (std::size_t i = 0; i < work.inputs.size(); ++i) {
    text += (i == 0 ? " of " : ", ") + work.inputs[i].shape.text();
    if (work.inputs[i].dtype == graph::DType::kIndex) text += " index";
    if (work.inputs[i].dtype == graph::DType::kByte) text += " byte";
  }
  text += " batch " + std::to_string(work.batch);
  if (work.weight_grad) text += " with weight_grad";
  if (work.input_grad) text += std::string(work.weight_grad ? "," : " with") + " input_grad";
  return text;
}

TableCost::TableCost(graph::CostTable table, graph::CostKey machine, const MachinePrices& prices)
    : table_(std::move(table)), machine_(std::move(machine)), prices_(prices) {
  LANISTA_CHECK(prices.calls.gflops > 0 && prices.calls.gb_per_second > 0 && prices.calls.call_us >= 0 &&
                    prices.memory_gb_per_second > 0,
                "the rates of a machine must be positive");
}

double TableCost::lane_us(const OperatorWork& work, std::size_t lanes) const {
  if (!table_.rows().empty()) {
    graph::CostKey key = machine_;
    key.work = work_text(work);
    key.lanes = static_cast<std::int64_t>(lanes);
    const graph::CostRow* row = table_.find(key);
    key.lanes = 1;
    if (row == nullptr) row = table_.find(key);
    if (row != nullptr) return row->microseconds;
  }
  graph::CostPrices all = prices_.calls;
  all.call_us *= work.launches;
  return graph::predicted_us(all, work.flops, work.in_bytes + work.other_bytes);
}

double TableCost::op_us(std::span<const OperatorWork* const> lanes) const {
  double us = 0;
  for (const OperatorWork* work : lanes) us += work->host_us + std::max(0.0, lane_us(*work, lanes.size()));
  return us;
}

// Each byte is read once and written once.
double TableCost::copy_us(double bytes) const { return 2 * bytes / (prices_.calls.gb_per_second * kBytesPerUs); }
double TableCost::store_us(double bytes) const { return bytes / (prices_.memory_gb_per_second * kBytesPerUs); }
double TableCost::load_us(double bytes) const { return bytes / (prices_.memory_gb_per_second * kBytesPerUs); }

}  // namespace lanista::sharing
