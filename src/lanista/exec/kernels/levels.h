#pragma once

#include "lanista/exec/kernels/kernels.h"

// Declarations that the translation units of the levels share with kernels.cpp. They are internal to this module.
namespace lanista::kernels {

namespace portable {
extern const Kernels<float> kFloatKernels;    ///< float kernels of the portable level
extern const Kernels<double> kDoubleKernels;  ///< double kernels of the portable level
}  // namespace portable
namespace avx2 {
extern const Kernels<float> kFloatKernels;    ///< float kernels of the AVX2 level
extern const Kernels<double> kDoubleKernels;  ///< double kernels of the AVX2 level
}  // namespace avx2
namespace avx512 {
extern const Kernels<float> kFloatKernels;    ///< float kernels of the AVX-512 level
extern const Kernels<double> kDoubleKernels;  ///< double kernels of the AVX-512 level
}  // namespace avx512

namespace detail {
/// Philox key of the dropout masks of one trial, step and node.
std::uint64_t dropout_stream(DropoutKey key);
}  // namespace detail

}  // namespace lanista::kernels
