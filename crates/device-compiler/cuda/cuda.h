// CUDA's <cuda.h> for AMD targets: the driver's names, for HIP's. A CUdeviceptr is a pointer, as HIP has it.
#pragma once
#include "cuda_runtime.h"
#include "ferrocm_driver_table.h"
