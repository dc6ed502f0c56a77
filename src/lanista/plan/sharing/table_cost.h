#pragma once

#include <string>

#include "lanista/plan/cost/cost_table.h"
#include "lanista/plan/sharing/cost.h"

namespace lanista::sharing {

/// Returns CostKey::work of a node's forward and backward pass: operator, attributes, input types, batch, and its
/// gradients.
///
/// Example: "linear(out=64) of [N, 64] batch 32 with weight_grad".
std::string work_text(const OperatorWork& work);

/// Measured rates of a machine (FLOPs, bytes and microseconds of kernel calls; main memory). They price operators
/// without a measured row, and all copies and cache accesses.
struct MachinePrices {
  graph::CostPrices calls;  ///< Rates of kernel calls on values in the memory of a program.
  /// Bandwidth of main memory in GB/s, which prices writing and reading cached outputs of frozen prefixes.
  double memory_gb_per_second = 10;
};

/// Predicts times from measured rows, and from the rates of the machine where no row fits.
///
/// It is a model of the CPU backend, which computes lanes one after another. A lane costs as much as a trial alone,
/// and a group saves only the work that its lanes share.
class TableCost final : public CostModel {
 public:
  /// Predicts with these rows and rates. `machine` gives the CPU, thread count and version of the rows to use.
  ///
  /// A row is found by work_text for the number of lanes of the operator, else for one lane. All rates must be
  /// positive; the time of a call may be zero.
  TableCost(graph::CostTable table, graph::CostKey machine, const MachinePrices& prices);

  double op_us(std::span<const OperatorWork* const> lanes) const override;
  double copy_us(double bytes) const override;
  double store_us(double bytes) const override;
  double load_us(double bytes) const override;

 private:
  double lane_us(const OperatorWork& work, std::size_t lanes) const;

  graph::CostTable table_;
  graph::CostKey machine_;
  MachinePrices prices_;
};

}  // namespace lanista::sharing
