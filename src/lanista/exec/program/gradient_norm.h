#pragma once

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/chunk.h"
#include "lanista/exec/program/lane_state.h"

// The size of a gradient relative to the optimiser's second moment.
namespace lanista::program {

/// First steps of a trial, in which squared_gradient_norm does not divide by the second moment, because it is too
/// inaccurate.
inline constexpr std::int64_t kSecondMomentWarmupSteps = 5;

/// Returns the sum of squares of a gradient's elements, in double, as a measure of gradient noise.
///
/// If the optimiser has a second moment (slot "v"), each element is first divided by sqrt(v) * moment_correction + eps,
/// with v before this step. In the first kSecondMomentWarmupSteps steps it is not. `gradients` have the layout of the
/// parameters, and are not clipped. Weight decay is not added to them. The state is unchanged.
template <class T>
double squared_gradient_norm(const LaneState& state, const T* gradients, const LaneHyper& hyper,
                             const kernels::Kernels<T>& k);

/// The index in StateLayout::slots of the second moment ("v"); -1 if the optimiser has none.
std::int64_t second_moment_slot(const StateLayout& layout);
/// The factor for sqrt(second moment) after `steps` steps: 1 / sqrt(1 - beta2^steps). It is 1 if beta2^steps is 1 or
/// more.
double moment_correction(double beta2, std::int64_t steps);

}  // namespace lanista::program
