// OPTIONS: no-runtime-header

__device__ inline int one() { return 1; }
