// Read after CUDA's runtime header by every source that nvcc compiles.
#pragma once
// Included by its path, which would make it and what it includes the program's own, with its warnings.
#pragma clang system_header
// The macros by which programs know nvcc. As options, HIP's headers would take the compiler for NVIDIA's.
#if !defined(__NVCC__)
#define __NVCC__ 1
#endif
#undef __CUDACC_VER_BUILD__
#define __CUDACC_VER_BUILD__ 93
#if defined(__ferrocm_source__) && !defined(__HIP_DEVICE_COMPILE__)
// The object file needs the one with its linked device code, so that linkers take that from a static library.
extern "C" __attribute__((visibility("hidden"))) const char __ferrocm_source__;
static const void *const __ferrocm_linked __attribute__((used)) = &__ferrocm_source__;
#endif
#if defined(HIP_API_PER_THREAD_DEFAULT_STREAM) && defined(__cplusplus)
// Templates for symbols, which HIP has for the legacy default stream only.
template <typename T>
static inline hipError_t hipMemcpyToSymbol_spt(const T &symbol, const void *from, size_t size, size_t offset = 0,
                                               hipMemcpyKind kind = hipMemcpyHostToDevice) {
    return hipMemcpyToSymbol_spt((const void *)&symbol, from, size, offset, kind);
}
template <typename T>
static inline hipError_t hipMemcpyFromSymbol_spt(void *to, const T &symbol, size_t size, size_t offset = 0,
                                                 hipMemcpyKind kind = hipMemcpyDeviceToHost) {
    return hipMemcpyFromSymbol_spt(to, (const void *)&symbol, size, offset, kind);
}
template <typename T>
static inline hipError_t hipMemcpyToSymbolAsync_spt(const T &symbol, const void *from, size_t size, size_t offset,
                                                    hipMemcpyKind kind, hipStream_t stream = hipStreamPerThread) {
    return hipMemcpyToSymbolAsync_spt((const void *)&symbol, from, size, offset, kind, stream);
}
template <typename T>
static inline hipError_t hipMemcpyFromSymbolAsync_spt(void *to, const T &symbol, size_t size, size_t offset,
                                                      hipMemcpyKind kind, hipStream_t stream = hipStreamPerThread) {
    return hipMemcpyFromSymbolAsync_spt(to, (const void *)&symbol, size, offset, kind, stream);
}
#endif
