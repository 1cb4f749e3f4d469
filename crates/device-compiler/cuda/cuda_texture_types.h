// CUDA's <cuda_texture_types.h> for AMD targets: all of it is in <cuda_runtime.h>.
#pragma once
#include "cuda_runtime.h"
