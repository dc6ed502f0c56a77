#pragma once
// The vectors of products at the AVX2 level. The AVX-512 level has its own.

#include "lanista/exec/kernels/family/simd_avx2.inc.h"

namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr int kMaxTileRows = 6;  // 6 x 2 accumulators, 2 weights and 1 broadcast fill the 16 registers
template <class T>
using Wide = Simd<T>;

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
