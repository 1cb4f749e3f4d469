// A program of CUDA's that has names of HIP's itself, and asks whether it is compiled as HIP.
#if defined(__HIP__) || defined(__HIPCC__) || defined(__HIP_PLATFORM_AMD__) || defined(__HIP_PLATFORM_HCC__)
#error "compiled as HIP"
#endif
#if !defined(__CUDACC__) || !defined(__NVCC__)
#error "not compiled as CUDA"
#endif

namespace program {
enum Backend { hip, cuda };
int hipFoo(int x) { return x + 1; }
struct hipBuffer {
    int hipSize;
};
__device__ int hipOnDevice(int x) { return x * 2; }
} // namespace program
static int hipCounter;
static inline int hipTwice(int x) { return 2 * x; }
__global__ void hipKernel(int *out) { *out = program::hipOnDevice(21); }

int use() {
    program::hipBuffer buffer = {hipTwice(program::hipFoo(20))};
    hipCounter = buffer.hipSize;
    return program::hip + hipCounter;
}
