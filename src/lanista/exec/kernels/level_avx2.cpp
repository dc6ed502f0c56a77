// Compiled with -mavx2 -mfma. It runs only on a CPU that has both.
#define LANISTA_KERNEL_LEVEL avx2
#include "lanista/exec/kernels/family/simd_avx2.inc.h"
namespace lanista::kernels::LANISTA_KERNEL_LEVEL {
namespace {

constexpr int kMaxTileRows = 6;  // 6 x 2 accumulators, 2 weights and 1 broadcast fill the 16 registers
template <class T>
using Wide = Simd<T>;

}  // namespace
}  // namespace lanista::kernels::LANISTA_KERNEL_LEVEL
// The vector types must come first.
#include "lanista/exec/kernels/family/table.inc.h"
