#pragma once

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/lane_state.h"
#include "lanista/exec/program/chunk.h"

// How large a gradient is to an optimiser.
namespace lanista::nn {

/// Steps in which the second moment of an optimiser says too little to divide by it.
inline constexpr std::int64_t kSecondMomentWarmupSteps = 5;

/// Sum of squares of a gradient's numbers, in double. Where the optimiser divides by the root of a second moment (a
/// slot "v"), each number is divided so first: by the root of the moment before this step, corrected for its beginning,
/// plus eps; in the first kSecondMomentWarmupSteps steps by nothing. The state is unchanged. `gradients` lie as the parameters do.
/// Not clipped, and without weight decay.
template <class T>
double squared_gradient_norm(const LaneState& state, const T* gradients, const LaneHyper& hyper,
                       const kernels::Kernels<T>& k);

/// The slot of the second moment; -1: the optimiser has none.
std::int64_t second_moment_slot(const StateLayout& layout);
/// What the root of that slot is multiplied with after so many steps: 1 / sqrt(1 - beta2^steps).
double moment_correction(double beta2, std::int64_t steps);

}  // namespace lanista::nn
