// The float kernels, compiled for AVX-512 (F, VL, DQ, BW). They run only on a CPU that has all of them.
#define LANISTA_KERNEL_LEVEL avx512
#define LANISTA_KERNEL_ELEMENT float
#define LANISTA_KERNEL_TABLE kFloatKernels
#include "lanista/exec/kernels/family/simd_avx512.inc.h"
// The vector types must come first.
#include "lanista/exec/kernels/family/table.inc.h"
