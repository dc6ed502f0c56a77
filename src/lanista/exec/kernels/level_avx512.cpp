// Compiled for AVX-512 (F, VL, DQ, BW); reached only where the CPU has all of it.
#define LANISTA_KERNEL_LEVEL avx512
#include "lanista/exec/kernels/family/simd_avx512.inc.h"
// The vector types come first.
#include "lanista/exec/kernels/family/table.inc.h"
