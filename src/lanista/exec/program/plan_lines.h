#pragma once

#include "lanista/exec/program/kernel_table.h"
#include "lanista/exec/program/plan.h"
#include "lanista/exec/program/state_layout.h"

// Builders for the lines of a plan. `common` holds the fields that all lines of a section share.
namespace lanista::program {

/// Bytes of one element of a type: `real` (sizeof the program's element type) for kReal, 4 for kIndex, 1 for kByte.
std::int64_t element_bytes(graph::DType type, std::size_t real);

/// Returns a line with the fields that all lines of section "train" share: section, family and batch.
template <class T>
PlanLine common_line(kernels::Isa isa, const ProgramOptions& options);

/// Returns the line of a prepared call. `layouts` holds the values with another layout than value_layout.
template <class T>
PlanLine call_line(const PlanLine& common, const Binding<T>& binding, const std::map<graph::Port, Layout>& layouts);

/// Returns the line of a copy of `elements` values from a result of `node` into the flat gradients or new buffers.
template <class T>
PlanLine copy_line(const PlanLine& common, graph::NodeId node, std::int64_t elements, Address from, Address to);

/// Returns the line of the commit: the update of all parameters that have a gradient, with their slots, then of the
/// buffers that a step renews. Its operator and kernel are `optimizer`.
template <class T>
PlanLine commit_line(const PlanLine& common, const StateLayout& layout, const std::string& optimizer);

}  // namespace lanista::program
