// CUDA's <cuda_bf16.hpp> for AMD targets.
#pragma once
#include "cuda_bf16.h"
