// CUDA's <cuda_gl_interop.h> for AMD targets. HIP has the functions that register buffers and images.
#pragma once
#define __CUDA_GL_INTEROP_H__
#if defined(__cplusplus)
#include "cuda_runtime_api.h"
#else
#include "ferrocm_c.h"
#endif
#if defined(__has_include)
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#endif
#endif
#include <hip/amd_detail/amd_hip_gl_interop.h>
#include "ferrocm_gl_runtime.h"
