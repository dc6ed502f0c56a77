// The float kernels, compiled with -mavx2 -mfma. They run only on a CPU that has both.
#define LANISTA_KERNEL_LEVEL avx2
#define LANISTA_KERNEL_ELEMENT float
#define LANISTA_KERNEL_TABLE kFloatKernels
#include "lanista/exec/kernels/family/wide_avx2.inc.h"
// The vector types must come first.
#include "lanista/exec/kernels/family/table.inc.h"
