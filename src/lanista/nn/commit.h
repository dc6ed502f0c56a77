#pragma once

#include "lanista/kernels/kernels.h"
#include "lanista/nn/lane_state.h"
#include "lanista/nn/program.h"

namespace lanista::nn {

/// The commit section of a lane: `gradients` (as the parameters lie; scaled down if they exceed clip_norm) go into
/// parameters and slots, `new_buffers` into buffers, and the step is counted. Cannot fail.
template <class T>
void commit(LaneState& state, const T* gradients, const T* new_buffers, step::Optimizer optimizer,
            const LaneHyper& hyper, const kernels::Kernels<T>& k);

}  // namespace lanista::nn
