#pragma once

#include <map>
#include <set>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/lower.h"
#include "lanista/exec/program/plan.h"
#include "lanista/model/graph/op.h"

namespace lanista::nn {

/// The call with index `call` as two halves.
template <class T>
struct BatchReductionCall {
  std::size_t call = 0;
  BatchReduction<T> batch_reduction;
};

/// A flat program: prepared calls in order, over one arena.
template <class T>
struct Section {
  std::vector<Run<T>> calls;                            ///< empty function where `batch_reductions` has the call
  std::vector<BatchReductionCall<T>> batch_reductions;  ///< in ascending order; only if the batch comes in parts
  std::vector<PlanLine> plan;                           ///< one line a call
  std::map<graph::Port, Address> addresses;             ///< of all values that calls read or write
  std::int64_t arena_bytes = 0;
  std::int64_t scratch = 0;          ///< elements
  bool has_random_masks = false;     ///< whether it needs Batch::sample_index
  std::vector<LaneAttr> lane_attrs;  ///< attributes that calls read from the lane; `node` is the step's
};

/// The inputs of build_section besides the calls.
template <class T>
struct SectionInputs {
  std::map<graph::Port, Address> fixed_addresses;  ///< sources, and results outside the arena
  std::map<graph::Port, Layout> layouts;           ///< layouts of state and gradients; other values have value_layout
  std::set<graph::Port> live_out;                  ///< results in the arena that are read after the last call
  const graph::OpTable& ops;
  const KernelTable<T>& table;
  const kernels::Kernels<T>& kernels;
  std::int64_t max_batch = 1;
  bool is_split = false;    ///< whether the batch comes in parts of at most max_batch samples
  std::size_t threads = 1;  ///< threads of the program
  PlanLine line = {};       ///< fields that all lines of the section's plan share
};

/// Checks that every call has a kernel. Errors: kUnimplemented, naming the first operator without one.
template <class T>
Result<void> check_kernels(const LoweredGraph& lowered, const SectionInputs<T>& inputs);

/// Plans the arena and prepares every call. All calls must have kernels.
template <class T>
Section<T> build_section(const LoweredGraph& lowered, const SectionInputs<T>& inputs);

}  // namespace lanista::nn
