#pragma once

#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/program/section.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn {

/// The commit section of a program: the prepared updates of all trained parameters.
template <class T>
struct CommitSection {
  std::vector<Run<T>> updates;
  PlanLine line;  ///< the commit is one line of the plan
};

/// Prepares the commit section of `train`. `state_format` gives the offsets of parameters and slots; gradients have the
/// offsets of their parameters. Errors: kUnimplemented (an update without a kernel).
template <class T>
Result<CommitSection<T>> commit_section(const step::TrainingStep& train, const StateFormat& state_format,
                                        const SectionInputs<T>& inputs);

/// Updates a lane's state by its gradients and counts the step.
///
/// `gradients` have the layout of the parameters; they are scaled down if their norm exceeds clip_norm. `new_buffers`
/// replace the buffers. A state that shares its memory is copied first, which may throw std::bad_alloc; then nothing
/// has changed.
template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, const CommitSection<T>& section,
            const LaneHyper& hyper, const kernels::Kernels<T>& k);

/// Copies `new_buffers` into the state's buffers, and changes nothing else.
template <class T>
void renew_buffers(LaneState& state, const T* new_buffers);

}  // namespace lanista::nn
