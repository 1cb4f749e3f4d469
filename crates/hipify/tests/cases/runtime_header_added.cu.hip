#include <hip/hip_runtime.h>
#include <vector>
#ifdef X

#endif
__device__ inline int one() { return 1; }

int two();
