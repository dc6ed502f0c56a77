#pragma once

#include <map>
#include <set>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/lower.h"
#include "lanista/exec/program/plan.h"
#include "lanista/model/graph/op.h"

namespace lanista::program {

/// One call of a section that reduces over the batch, as two halves.
template <class T>
struct BatchReductionCall {
  std::size_t call = 0;               ///< Index in Section::calls.
  BatchReduction<T> batch_reduction;  ///< The two halves of the call.
};

/// The prepared calls of one phase (compute or prediction) in order, over one arena. The commit is a CommitSection.
template <class T>
struct Section {
  std::vector<Run<T>> calls;  ///< Prepared calls; an empty function where `batch_reductions` has the call.
  /// In ascending order of `call`; empty unless the batch comes in parts.
  std::vector<BatchReductionCall<T>> batch_reductions;
  std::vector<PlanLine> plan;                ///< One line a call, in the same order.
  std::map<graph::Port, Address> addresses;  ///< Addresses of all values that calls read or write.
  std::int64_t arena_bytes = 0;              ///< Bytes of the arena for max_batch samples.
  std::int64_t scratch = 0;                  ///< Elements of scratch memory that all calls share.
  bool has_random_masks = false;             ///< True: calls read Batch::sample_index.
  /// Attributes that calls read from the lane; `node` is the node of the step graph.
  std::vector<LaneAttr> lane_attrs;
};

/// The inputs of build_section besides the calls.
template <class T>
struct SectionInputs {
  std::map<graph::Port, Address> fixed_addresses;  ///< Sources, and results outside the arena, with their addresses.
  /// Layouts of state and gradients; values without an entry have value_layout.
  std::map<graph::Port, Layout> layouts;
  std::set<graph::Port> live_out;      ///< Results in the arena that are read after the last call.
  const graph::OpTable& ops;           ///< Definitions of the step operators.
  const KernelTable<T>& table;         ///< Kernels by name.
  const kernels::Kernels<T>& kernels;  ///< CPU kernels of the program's level.
  std::int64_t max_batch = 1;          ///< Most samples of one run of the calls.
  bool is_split = false;               ///< True: the batch comes in parts of at most max_batch samples.
  std::size_t threads = 1;             ///< Threads of the program.
  PlanLine line = {};                  ///< Fields that all lines of the section's plan share.
};

/// Checks that every call has a kernel and an operator definition. Errors: kUnimplemented, naming the first operator
/// without one.
template <class T>
Result<void> check_kernels(const LoweredGraph& lowered, const SectionInputs<T>& inputs);

/// Plans the arena and prepares every call. Requires a kernel for every call (check_kernels).
template <class T>
Section<T> build_section(const LoweredGraph& lowered, const SectionInputs<T>& inputs);

}  // namespace lanista::program
