// CUDA's <cuda_egl_interop.h>. Its names are a compile error, as this header says.
#pragma once
#error "HIP shares nothing with EGL: cuda_egl_interop.h has no counterpart for AMD GPUs"
