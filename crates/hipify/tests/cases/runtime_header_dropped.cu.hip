#include <hip/hip_runtime.h>
__device__ inline int one() { return 1; }
