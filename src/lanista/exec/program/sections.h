#pragma once

#include <set>

#include "lanista/exec/program/section.h"
#include "lanista/exec/program/state_layout.h"
#include "lanista/model/autodiff/training_step.h"

// The two sections of a program. Of `inputs`, what they have in common is given: kernels, operators, batch.
namespace lanista::nn {

/// Values that code after the compute section reads: nothing may be fused into them.
std::set<graph::Port> outputs_read_after(const step::TrainingStep& train);

/// Where and how the state's sources lie.
template <class T>
void assign_state_addresses(SectionInputs<T>& inputs, const StateLayout& layout, const std::vector<step::StateTensor>& state);

/// A result of the compute section that the commit section wants in the lane's own memory.
struct CommitInput {
  graph::Port value;
  Address address;
  Layout layout;
  Range range;
};
template <class T>
std::vector<CommitInput> commit_inputs(const step::TrainingStep& train, const LoweredGraph& lowered, const StateLayout& layout);

/// Forward, loss and backward. Gradients and new buffer values are computed where the commit wants them, or copied
/// there.
template <class T>
Section<T> train_section(const step::TrainingStep& train, const LoweredGraph& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs);

template <class T>
Section<T> infer_section(const step::InferenceStep& infer, const LoweredGraph& lowered, const StateLayout& layout,
                         SectionInputs<T> inputs);

}  // namespace lanista::nn
