//! Headers that programs include and NVRTC does not have.

use std::ffi::CStr;

/// Each header's name, and its text.
pub(crate) const HEADERS: &[(&CStr, &CStr)] = &[
    // NVRTC declares what is in it by itself.
    (c"cuda_runtime.h", c"\n"),
    (c"hip/hip_runtime.h", HIP_RUNTIME),
    (c"stddef.h", c"#pragma once\n"),
    (c"cstddef", STD_SIZE),
    (c"stdint.h", INTEGERS),
    (c"cstdint", STD_INTEGERS),
];

const HIP_RUNTIME: &CStr = c"#pragma once
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
";

const STD_SIZE: &CStr = c"#pragma once
namespace std { using ::size_t; typedef decltype(nullptr) nullptr_t; typedef decltype((char *)0 - (char *)0) ptrdiff_t; }
";

const INTEGERS: &CStr = c"#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
#ifdef _WIN32
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
#define INT32_MAX 2147483647
#define INT32_MIN (-INT32_MAX - 1)
#define UINT32_MAX 4294967295U
";

const STD_INTEGERS: &CStr = c"#pragma once
#include <stdint.h>
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::intptr_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::uintptr_t;
}
";
