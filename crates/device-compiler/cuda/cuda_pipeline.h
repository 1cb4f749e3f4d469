// CUDA's <cuda_pipeline.h> for AMD targets: copies to shared memory, which are synchronous.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_pipeline_primitives.h"
#include <cstddef>

namespace nvcuda {
namespace experimental {
class pipeline {
  public:
    __device__ size_t commit() { return stage++; }
    __device__ void wait(size_t) {}
    template <unsigned N> __device__ void wait_prior() {}

  private:
    size_t stage = 0;
};
template <typename T> __device__ inline void memcpy_async(T &to, const T &from, pipeline &) { to = from; }
} // namespace experimental
} // namespace nvcuda
#include "ferrocm_letters_end.h"
