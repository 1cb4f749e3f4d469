#ifndef A_CUH
#define A_CUH

__device__ inline int one() { return 1; }
#endif
