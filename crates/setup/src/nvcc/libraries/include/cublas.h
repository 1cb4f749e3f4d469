// CUDA's <cublas.h>, the interface of cuBLAS without handles.
#pragma once
#error "AMD targets have cuBLAS's interface with handles only: include <cublas_v2.h>"
