#pragma once

#include "lanista/exec/kernels/kernels.h"

/// What the sources of the levels share with the dispatcher. Not for users of the room.
namespace lanista::kernels {

namespace portable {
extern const Kernels<float> kFloatKernels;
extern const Kernels<double> kDoubleKernels;
}  // namespace portable
namespace avx2 {
extern const Kernels<float> kFloatKernels;
extern const Kernels<double> kDoubleKernels;
}  // namespace avx2
namespace avx512 {
extern const Kernels<float> kFloatKernels;
extern const Kernels<double> kDoubleKernels;
}  // namespace avx512

namespace detail {
/// The Philox key of all masks of a (trial, step, node).
std::uint64_t dropout_stream(DropoutKey key);
}  // namespace detail

}  // namespace lanista::kernels
