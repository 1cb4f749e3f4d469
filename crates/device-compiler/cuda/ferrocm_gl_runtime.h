// Functions of CUDA's runtime for OpenGL that HIP lacks, in C and C++. They return `cudaErrorNotSupported`. The page of CUDA's names gives
// the comment above a function as the reason.
#pragma once
#pragma GCC system_header
#include "ferrocm_rows.h"
typedef enum cudaGLMapFlags {
    cudaGLMapFlagsNone = 0, cudaGLMapFlagsReadOnly = 1, cudaGLMapFlagsWriteDiscard = 2,
} cudaGLMapFlags;
// CUDA 3 and 5 deprecated them. `cudaGraphicsGLRegisterBuffer` and `cudaGraphicsMapResources` replace them.
__CUDA_REFUSED(cudaGLMapBufferObject, void **a, GLuint b)
__CUDA_REFUSED(cudaGLMapBufferObjectAsync, void **a, GLuint b, cudaStream_t c)
__CUDA_REFUSED(cudaGLRegisterBufferObject, GLuint a)
__CUDA_REFUSED(cudaGLSetBufferObjectMapFlags, GLuint a, unsigned int b)
__CUDA_REFUSED(cudaGLSetGLDevice, int a)
__CUDA_REFUSED(cudaGLUnmapBufferObject, GLuint a)
__CUDA_REFUSED(cudaGLUnmapBufferObjectAsync, GLuint a, cudaStream_t b)
__CUDA_REFUSED(cudaGLUnregisterBufferObject, GLuint a)
