// CUDA's <cuda_awbarrier.h> for AMD targets: barriers in shared memory.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_awbarrier_primitives.h"

namespace nvcuda {
namespace experimental {
class awbarrier {
    __mbarrier_t barrier;

  public:
    class arrival_token {
        __mbarrier_token_t token;
        __device__ explicit arrival_token(__mbarrier_token_t token) : token(token) {}
        friend class awbarrier;
    };
    __device__ arrival_token arrive() { return arrival_token(__mbarrier_arrive(&barrier)); }
    __device__ arrival_token arrive_and_drop() { return arrival_token(__mbarrier_arrive_and_drop(&barrier)); }
    __device__ bool timed_wait(arrival_token token, uint32_t) { return __mbarrier_test_wait(&barrier, token.token); }
    __device__ void wait(arrival_token token) {
        while (!__mbarrier_test_wait(&barrier, token.token))
            __builtin_amdgcn_s_sleep(1);
    }
    __device__ void arrive_and_wait() { wait(arrive()); }
    static constexpr __host__ __device__ ptrdiff_t max() { return (1 << 20) - 1; }
    friend __device__ inline void init(awbarrier *b, uint32_t count) { __mbarrier_init(&b->barrier, count); }
};
} // namespace experimental
} // namespace nvcuda
#include "ferrocm_letters_end.h"
