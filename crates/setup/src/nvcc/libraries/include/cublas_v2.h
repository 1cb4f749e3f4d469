// CUDA's <cublas_v2.h> for AMD targets: cuBLAS over rocBLAS.
#pragma once
#define CUBLAS_V2_H_
#include "cublas_api.h"
