// CUDA's <cudaEGL.h>. Its names are a compile error, as this header says.
#pragma once
#error "HIP shares nothing with EGL: cudaEGL.h has no counterpart for AMD GPUs"
