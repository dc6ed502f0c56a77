// The double kernels, compiled with -mavx2 -mfma. They run only on a CPU that has both.
#define LANISTA_KERNEL_LEVEL avx2
#define LANISTA_KERNEL_ELEMENT double
#define LANISTA_KERNEL_TABLE kDoubleKernels
#include "lanista/exec/kernels/family/wide_avx2.inc.h"
// The vector types must come first.
#include "lanista/exec/kernels/family/table.inc.h"
