#pragma once

#include <string>

#include "lanista/plan/cost/cost_table.h"
#include "lanista/plan/sharing/cost.h"

namespace lanista::fuse {

/// What identifies the work of a node in a table: operator, attributes, input types, batch, and which gradients it
/// computes. "linear(out=64) of [N, 64] batch 32 with weight_grad"
std::string work_text(const OperatorWork& work);

/// A machine as a planner is told of it.
struct MachinePrices {
  graph::CostPrices calls;           ///< of calls on values that stay where the program keeps them
  double memory_gb_per_second = 10;  ///< of what lies further off: values kept for whole epochs
};

/// What was measured counts; where nothing was, arithmetic and traffic at the machine's rates. For executors that give
/// every lane its turn, as those on a CPU do: a lane costs what it costs alone, and joins save only what is shared.
class TableCost final : public CostModel {
 public:
  /// Rows are looked up by work_text under `machine`'s cpu, threads and version, for the lanes at hand, else for one
  /// lane. Prices must be greater than zero, that of a call at least zero.
  TableCost(graph::CostTable table, graph::CostKey machine, const MachinePrices& prices);

  double op_us(std::span<const OperatorWork* const> lanes, OpForm form) const override;
  double copy_us(double bytes) const override;
  double store_us(double bytes) const override;
  double load_us(double bytes) const override;

 private:
  double lane_us(const OperatorWork& work, std::size_t lanes) const;

  graph::CostTable table_;
  graph::CostKey machine_;
  MachinePrices prices_;
};

}  // namespace lanista::fuse
