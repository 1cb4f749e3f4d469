// Types of pointers to the driver's functions, names of CUDA's that a program gives to its own functions, and names of types.
#include <cstdio>
#include <cstdlib>
#include <cudaTypedefs.h>

// A function with the name of a type.
class Failure {
    cudaError_t status;

  public:
    explicit Failure(cudaError_t status) : status(status) {}
    cudaError_t cudaError() const { return status; }
};
static enum cudaError first(enum cudaError a, cudaError_t b) { return a != cudaSuccess ? a : b; }
static enum cudaError_enum of_driver(CUresult result) { return result; }

static void require(bool is_true, const char *what) {
    if (!is_true) {
        std::printf("FAILED: %s\n", what);
        std::exit(1);
    }
}

template <typename F> static F entry(const char *name, unsigned version) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    require(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result) == cudaSuccess, name);
    require(result == cudaDriverEntryPointSuccess && found, name);
    return reinterpret_cast<F>(found);
}

// A type of a template's parameter without `typename`, which nvcc does without.
template <typename T> static int bytes() { return static_cast<int>(sizeof(T)); }
struct Traits {
    using Stored = short;
};
template <typename K> static int stored() { return bytes<K::Stored>(); }

__global__ void say(int number) { std::printf("kernel %d\n", number); }

int main() {
    require(cudaFree(nullptr) == cudaSuccess, "a context");
    const auto allocate = entry<PFN_cuMemAlloc_v3020>("cuMemAlloc", 3020);
    const auto fill = entry<PFN_cuMemsetD8>("cuMemsetD8", 12080);
    const auto copy = entry<PFN_cuMemcpyDtoH>("cuMemcpyDtoH", 12080);
    const auto release = entry<PFN_cuMemFree>("cuMemFree", 12080);
    const PFN_cuCtxCreate_v3020 with_three = [](CUcontext *, unsigned, CUdevice) -> CUresult { return CUDA_ERROR_NOT_SUPPORTED; };
    CUdeviceptr address = 0;
    require(allocate(&address, 64) == CUDA_SUCCESS && address != 0, "memory");
    require(fill(address + 1, 7, 2) == CUDA_SUCCESS, "values");
    unsigned char bytes[2] = {};
    require(copy(bytes, address + 1, 2) == CUDA_SUCCESS && bytes[0] == 7 && bytes[1] == 7, "a copy");
    require(release(address) == CUDA_SUCCESS, "release");
    require(of_driver(with_three(nullptr, 0, 0)) == CUDA_ERROR_NOT_SUPPORTED, "a status");
    require(first(cudaSuccess, Failure(cudaErrorInvalidValue).cudaError()) == cudaErrorInvalidValue, "a function");
    require(stored<Traits>() == 2, "a name of a type");
    say<<<1, 1>>>(5);
    require(cudaDeviceSynchronize() == cudaSuccess, "a kernel");
    std::printf("PASSED\n");
}
