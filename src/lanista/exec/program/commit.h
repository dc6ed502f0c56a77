#pragma once

#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/program/section.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::program {

/// The commit section of a program: the prepared updates of all trained parameters.
template <class T>
struct CommitSection {
  std::vector<Run<T>> updates;  ///< Prepared updates of all trained parameters, in order.
  PlanLine line;                ///< The one line of the plan that shows the commit.
};

/// Prepares the commit section of `train`. `state_format` gives the offsets of parameters and slots; gradients have the
/// offsets of their parameters. Errors: kUnimplemented (an update without a kernel).
template <class T>
Result<CommitSection<T>> commit_section(const autodiff::TrainingStep& train, const StateFormat& state_format,
                                        const SectionInputs<T>& inputs);

/// Updates a lane's state by its gradients, replaces renewed buffers, and counts the step.
///
/// `gradients` have the layout of the parameters. With a positive clip_norm they are scaled by min(1, clip_norm / (L2
/// norm + 1e-6)). `new_buffers` have the layout of the buffers. A state that shares its memory is copied first, which
/// may throw std::bad_alloc; then nothing has changed.
template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, const CommitSection<T>& section,
            const LaneHyper& hyper, const kernels::Kernels<T>& k);

/// Copies the values that a step renews from `new_buffers` to the state's buffers, and changes nothing else. A state
/// that shares its memory is copied first, which may throw std::bad_alloc.
template <class T>
void renew_buffers(LaneState& state, const T* new_buffers);

}  // namespace lanista::program
