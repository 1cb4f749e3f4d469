// Functions of CUDA's driver for OpenGL that HIP lacks, in C and C++. They return `CUDA_ERROR_NOT_SUPPORTED`. The page of CUDA's names gives
// the comment above a function as the reason.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"
#define cuGLGetDevices_v2 hipGLGetDevices
enum CUGLmap_flags_enum {
    CU_GL_MAP_RESOURCE_FLAGS_NONE = 0, CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 1, CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2,
};
typedef enum CUGLmap_flags_enum CUGLmap_flags;
// CUDA 3 and 5 deprecated them. `cuGraphicsGLRegisterBuffer` and `cuGraphicsMapResources` replace them.
__CU_REFUSED(cuGLCtxCreate_v2, CUcontext *a, unsigned int b, CUdevice c)
__CU_REFUSED(cuGLInit, void)
__CU_REFUSED(cuGLMapBufferObjectAsync_v2, CUdeviceptr *a, size_t *b, GLuint c, CUstream d)
__CU_REFUSED(cuGLMapBufferObject_v2, CUdeviceptr *a, size_t *b, GLuint c)
__CU_REFUSED(cuGLRegisterBufferObject, GLuint a)
__CU_REFUSED(cuGLSetBufferObjectMapFlags, GLuint a, unsigned int b)
__CU_REFUSED(cuGLUnmapBufferObject, GLuint a)
__CU_REFUSED(cuGLUnmapBufferObjectAsync, GLuint a, CUstream b)
__CU_REFUSED(cuGLUnregisterBufferObject, GLuint a)
#define cuGLCtxCreate cuGLCtxCreate_v2
#define cuGLMapBufferObject cuGLMapBufferObject_v2
#define cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2
