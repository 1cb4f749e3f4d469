// CUDA's <cudaVDPAU.h>. Its names are a compile error, as this header says.
#pragma once
#error "HIP shares nothing with VDPAU: cudaVDPAU.h has no counterpart for AMD GPUs"
