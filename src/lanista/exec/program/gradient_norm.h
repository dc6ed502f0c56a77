#pragma once

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/exec/program/lane_state.h"

// The size of a gradient relative to the optimiser's second moment.
namespace lanista::nn {

/// First steps of a trial, in which the second moment is too inaccurate to divide by it.
inline constexpr std::int64_t kSecondMomentWarmupSteps = 5;

/// Returns the sum of squares of a gradient's elements, in double.
///
/// If the optimiser has a second moment (slot "v"), each element is first divided by sqrt(corrected moment before this
/// step) + eps. In the first kSecondMomentWarmupSteps steps it is not. `gradients` have the layout of the parameters.
/// They are taken without clipping and weight decay. The state is unchanged.
template <class T>
double squared_gradient_norm(const LaneState& state, const T* gradients, const LaneHyper& hyper,
                             const kernels::Kernels<T>& k);

/// The index of the slot with the second moment; -1 if the optimiser has none.
std::int64_t second_moment_slot(const StateLayout& layout);
/// The factor for the root of that slot after `steps` steps: 1 / sqrt(1 - beta2^steps).
double moment_correction(double beta2, std::int64_t steps);

}  // namespace lanista::nn
