// Compiled for AVX-512 (F, VL, DQ, BW). It runs only on a CPU that has all of them.
#define LANISTA_KERNEL_LEVEL avx512
#include "lanista/exec/kernels/family/simd_avx512.inc.h"
// The vector types must come first.
#include "lanista/exec/kernels/family/table.inc.h"
