#include <device_launch_parameters.h>
__device__ inline int one() { return 1; }
