// CUDA's <cuda.h> for AMD targets: the driver's names, mapped to HIP's. A CUdeviceptr is a pointer, as in HIP.
#pragma once
#include "cuda_runtime.h"
#include "ferrocm_driver_table.h"
