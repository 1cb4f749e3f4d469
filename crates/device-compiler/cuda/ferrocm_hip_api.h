// HIP's <hip_runtime_api.h> for CUDA's dialect and for compilers of plain C++, with the values that only CUDA's enums have.
#include "ferrocm_values_begin.h"
// The type has CUDA's name, which may then also be that of a program's functions.
#define hipError_t cudaError
#include <hip/hip_runtime_api.h>
#undef hipError_t
typedef cudaError hipError_t;
#include "ferrocm_values_end.h"
