// CUDA's <cublasXt.h>, products of matrices of the host over several GPUs.
#pragma once
#error "AMD targets have no library for cublasXt's products over several GPUs"
