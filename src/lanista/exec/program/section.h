#pragma once

#include <map>
#include <set>
#include <vector>

#include "lanista/base/result.h"
#include "lanista/model/graph/op.h"
#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/lower.h"
#include "lanista/exec/program/plan.h"

namespace lanista::nn {

/// The call of that number, in halves.
template <class T>
struct BatchReductionCall {
  std::size_t call = 0;
  BatchReduction<T> batch_reduction;
};

/// A flat program: prepared calls in order, over one arena.
template <class T>
struct Section {
  std::vector<Run<T>> calls;               ///< none where an exchange stands
  std::vector<BatchReductionCall<T>> batch_reductions;  ///< ascending; only where the batch comes in parts
  std::vector<PlanLine> plan;              ///< one line a call
  std::map<graph::Port, Address> addresses;
  std::int64_t arena_bytes = 0;
  std::int64_t scratch = 0;         ///< elements
  bool has_random_masks = false;         ///< wants sample indices
  std::vector<LaneAttr> lane_attrs;  ///< that calls take from the lane; `node` is the step's
};

/// What a section is built from, beside its calls.
template <class T>
struct SectionInputs {
  std::map<graph::Port, Address> fixed_addresses;     ///< sources, and results that belong somewhere else than the arena
  std::map<graph::Port, Layout> layouts;  ///< of state and gradients; other values lie as value_layout says
  std::set<graph::Port> live_out;             ///< results in the arena that are read after the last call
  const graph::OpTable& ops;
  const KernelTable<T>& table;
  const kernels::Kernels<T>& kernels;
  std::int64_t max_batch = 1;
  bool is_split = false;    ///< the batch comes in parts of at most max_batch samples
  std::size_t threads = 1;  ///< of the program
  PlanLine line = {};       ///< what all lines of the section's plan have in common
};

/// Errors: kUnimplemented, naming the first operator without a kernel.
template <class T>
Result<void> check_kernels(const LoweredGraph& lowered, const SectionInputs<T>& inputs);

/// Plans the arena and prepares every call; all of them have kernels.
template <class T>
Section<T> build_section(const LoweredGraph& lowered, const SectionInputs<T>& inputs);

}  // namespace lanista::nn
