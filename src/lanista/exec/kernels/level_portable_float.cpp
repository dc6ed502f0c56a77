// The float kernels, compiled for any x86-64: SSE2 without FMA.
#define LANISTA_KERNEL_LEVEL portable
#define LANISTA_KERNEL_ELEMENT float
#define LANISTA_KERNEL_TABLE kFloatKernels
#include "lanista/exec/kernels/family/simd_portable.inc.h"
// The vector types must come first.
#include "lanista/exec/kernels/family/table.inc.h"
