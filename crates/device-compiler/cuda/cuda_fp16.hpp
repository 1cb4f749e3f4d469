// CUDA's <cuda_fp16.hpp> for AMD targets.
#pragma once
#include "cuda_fp16.h"
