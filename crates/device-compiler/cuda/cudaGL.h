// CUDA's <cudaGL.h> for AMD targets. HIP has the functions that register buffers and images.
#pragma once
#define CUDAGL_H
#if defined(__cplusplus)
#include "cuda.h"
#else
#include "ferrocm_c.h"
#endif
#if defined(__has_include)
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#endif
#endif
#include <hip/amd_detail/amd_hip_gl_interop.h>
#include "ferrocm_gl_driver.h"
