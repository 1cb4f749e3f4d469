// CUDA's <cuda_fp8.hpp> for AMD targets.
#pragma once
#include "cuda_fp8.h"
