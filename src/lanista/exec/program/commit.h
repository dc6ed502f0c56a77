#pragma once

#include <vector>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/program/section.h"
#include "lanista/model/autodiff/training_step.h"

namespace lanista::nn {

/// The commit section of a program: updates of all trained parameters, prepared like any call, then the new buffers.
template <class T>
struct CommitSection {
  std::vector<Run<T>> updates;
  PlanLine line;  ///< the commit is one line of the plan
};

/// `state_format` says where parameters and slots lie; gradients lie as parameters do. Errors: kUnimplemented, an update
/// without a kernel.
template <class T>
Result<CommitSection<T>> commit_section(const step::TrainingStep& train, const StateFormat& state_format,
                                        const SectionInputs<T>& inputs);

/// The commit of a lane: `gradients` (as the parameters lie; scaled down if they exceed clip_norm) go into parameters
/// and slots, `new_buffers` into buffers, and the step is counted. A state that shares its
/// memory gets its own first: throws std::bad_alloc, and then nothing has changed; else cannot fail.
template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, const CommitSection<T>& section,
            const LaneHyper& hyper, const kernels::Kernels<T>& k);

/// The part of a commit that renews buffers, alone.
template <class T>
void renew_buffers(LaneState& state, const T* new_buffers);

}  // namespace lanista::nn
