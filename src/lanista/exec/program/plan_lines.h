#pragma once

#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/plan.h"
#include "lanista/exec/program/state_layout.h"

// How the lines of a plan are made; `common` is what the lines of a section share.
namespace lanista::nn {

/// Bytes of an element; `real` are those of the program's own type.
std::int64_t element_bytes(graph::DType type, std::size_t real);

/// The start of every line: section "train".
template <class T>
PlanLine common_line(kernels::Isa isa, const ProgramOptions& options);

/// `layouts` are those of values that do not lie as value_layout says.
template <class T>
PlanLine call_line(const PlanLine& common, const Binding<T>& binding, const std::map<graph::Port, Layout>& layouts);

/// A result that the commit wants in the lane's own memory.
template <class T>
PlanLine copy_line(const PlanLine& common, graph::NodeId node, std::int64_t elements, Address from, Address to);

/// The commit is one call: an update of every trained run with its slots, then the new buffer values.
template <class T>
PlanLine commit_line(const PlanLine& common, const StateLayout& layout, const std::string& optimizer);

}  // namespace lanista::nn
