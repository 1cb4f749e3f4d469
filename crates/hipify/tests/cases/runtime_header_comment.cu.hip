/* not here */
#include <vector>
#include <hip/hip_runtime.h>  // here
__device__ inline int one() { return 1; }
