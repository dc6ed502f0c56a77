#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "lanista/model/graph/infer.h"
#include "lanista/plan/cost/cost_table.h"

namespace lanista::plan {

/// Rates of a machine, which predict the time of work that was not measured. All of them are positive; `call_us` may be
/// zero.
struct CostPrices {
  double gflops = 100;              ///< Peak of one core, in 10^9 FLOPs a second.
  double gb_per_second = 100;       ///< Bandwidth of the memory of a program's values, in 10^9 bytes a second.
  double call_us = 0.05;            ///< Microseconds that are added to every call, whatever its size.
  double load_gb_per_second = 10;   ///< Bandwidth of reading cached outputs of frozen prefixes.
  double store_gb_per_second = 10;  ///< Bandwidth of writing them.
  bool overlaps = false;            ///< True: arithmetic and memory traffic overlap, so only the longer one counts.

  /// Returns the predicted microseconds of `calls` calls with these FLOPs and bytes in sum: flops / (1000 gflops) +
  /// bytes / (1000 gb_per_second) + calls * call_us, or with the greater of the first two if `overlaps`.
  double us(double flops, double bytes, double calls = 1) const;
};

/// Sources of the time of work on a machine: measured rows, and rates for work without a row.
struct Costs {
  CostTable table;    ///< Measured rows.
  CostKey machine;    ///< CPU, threads and version of the rows to use; `work` and `lanes` are ignored.
  CostPrices prices;  ///< Rates of the machine.
  /// Returns the row of this work for `lanes` lanes, else for one lane; null if neither was measured.
  const CostRow* find(std::string work, std::int64_t lanes = 1) const;
};

/// Returns CostKey::work of some passes of a node: operator, attributes, input types, batch and the passes.
///
/// Example: "linear(out=64) of [N, 64] batch 32 with weight_grad". Equal nodes have equal texts.
std::string work_text(const graph::Node& node, std::span<const graph::ValueType> inputs, std::int64_t batch,
                      std::string_view passes);

/// Returns the bytes of a value for one sample, at four bytes an element.
double bytes_of(const graph::ValueType& type);
/// Returns the forward work of a node for one sample. An operator that does not define its work reads its inputs and
/// writes its outputs.
graph::Cost sample_work(const graph::Node& node, const graph::Types& types, const graph::OpDef& def);

}  // namespace lanista::plan
