// CUDA's <cuda_vdpau_interop.h>. Its names are a compile error, as this header says.
#pragma once
#error "HIP shares nothing with VDPAU: cuda_vdpau_interop.h has no counterpart for AMD GPUs"
