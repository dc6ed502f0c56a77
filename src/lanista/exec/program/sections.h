#pragma once

#include <set>

#include "lanista/exec/program/section.h"
#include "lanista/exec/program/state_layout.h"
#include "lanista/model/autodiff/training_step.h"

// The sections of a program. `inputs` holds what they share: kernels, operators and batch size.
namespace lanista::program {

/// The values of a step that are read after the compute section: loss, gradients and new buffers. Nothing may be fused
/// into them.
std::set<graph::Port> outputs_read_after(const autodiff::TrainingStep& train);

/// Sets addresses and layouts of the parameters and buffers of a step in `inputs`. `state` has the order of
/// layout.items.
template <class T>
void assign_state_addresses(SectionInputs<T>& inputs, const StateLayout& layout,
                            const std::vector<autodiff::StateTensor>& state);

/// A gradient or new buffer value that the commit reads from the flat gradients or new buffers.
struct CommitInput {
  graph::Port value;  ///< Value of the step graph.
  Address address;    ///< Address at which the commit reads it.
  Layout layout;      ///< Layout at that address.
  Range range;        ///< Elements in the flat gradients or buffers.
};
/// Returns the gradients and new buffers of a step that its commit reads, in the order of the state.
template <class T>
std::vector<CommitInput> commit_inputs(const autodiff::TrainingStep& train, const LoweredGraph& lowered,
                                       const StateLayout& layout);

/// Builds the compute section: forward, loss and backward. Gradients and new buffers are computed where the commit
/// reads them, or copied there.
template <class T>
Section<T> train_section(const autodiff::TrainingStep& train, const LoweredGraph& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs);

/// Builds the section that predicts, from the calls of the inference step.
template <class T>
Section<T> infer_section(const autodiff::InferenceStep& infer, const LoweredGraph& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs);

}  // namespace lanista::program
