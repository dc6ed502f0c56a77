// Compiled with -mavx2 -mfma; reached only where the CPU has both.
#define LANISTA_KERNEL_LEVEL avx2
#include "lanista/kernels/family/simd_avx2.inc.h"
// The vector types come first.
#include "lanista/kernels/family/table.inc.h"
