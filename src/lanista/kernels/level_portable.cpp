// Any x86-64: SSE2, no FMA.
#define LANISTA_KERNEL_LEVEL portable
#include "lanista/kernels/family/simd_portable.inc.h"
// The vector types come first.
#include "lanista/kernels/family/table.inc.h"
