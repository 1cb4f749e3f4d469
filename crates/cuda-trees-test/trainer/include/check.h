// Every call of the runtime is checked; the first failure is kept with its place.
#ifndef TRAINER_CHECK_H
#define TRAINER_CHECK_H
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

namespace trainer {
struct Failure {
    cudaError_t code = cudaSuccess;
    char text[256] = "";
};

inline Failure &failure() {
    static thread_local Failure kept;
    return kept;
}

inline bool check(cudaError_t error, const char *call, const char *file, int line) {
    if (error == cudaSuccess)
        return true;
    Failure &kept = failure();
    if (kept.code == cudaSuccess) {
        kept.code = error;
        const char *base = strrchr(file, '/');
        snprintf(kept.text, sizeof kept.text, "%s:%d: %s: %s (%s)", base ? base + 1 : file, line, call, cudaGetErrorString(error),
                 cudaGetErrorName(error));
    }
    return false;
}
} // namespace trainer

#define CUDA_CHECK(call)                                                     \
    do {                                                                     \
        if (!::trainer::check((call), #call, __FILE__, __LINE__))            \
            return static_cast<int>(::trainer::failure().code);              \
    } while (0)

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#endif
