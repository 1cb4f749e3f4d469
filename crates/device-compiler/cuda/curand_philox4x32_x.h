// CUDA's <curand_philox4x32_x.h> for AMD targets: all of it is in <curand_kernel.h>.
#pragma once
#include "curand_kernel.h"
