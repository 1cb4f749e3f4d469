// Sixteen bytes of elements, moved by one instruction.
#pragma once
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace trainer {
template <typename T> union x128 {
    static constexpr int count = 16 / sizeof(T);
    int4 bits;
    T at[count];

    __device__ __forceinline__ x128() {}
    __device__ __forceinline__ explicit x128(const int4 &loaded) : bits(loaded) {}
    __device__ __forceinline__ T &operator[](int i) { return at[i]; }
    __device__ __forceinline__ const T &operator[](int i) const { return at[i]; }
};
static_assert(sizeof(x128<half>) == 16 && alignof(x128<half>) == 16, "one instruction moves it");

// `Once`: the cache line will not be needed again.
enum class Use { Again, Once };
template <Use use = Use::Again, typename T> __device__ __forceinline__ x128<T> load(const T *from) {
    const int4 *vector = reinterpret_cast<const int4 *>(from);
    if constexpr (use == Use::Once)
        return x128<T>(__ldcs(vector));
    else
        return x128<T>(__ldg(vector));
}
template <Use use = Use::Again, typename T> __device__ __forceinline__ void store(T *to, const x128<T> &value) {
    if constexpr (use == Use::Once)
        __stcs(reinterpret_cast<int4 *>(to), value.bits);
    else
        *reinterpret_cast<int4 *>(to) = value.bits;
}

template <typename To, typename From> struct Cast;
template <typename T> struct Cast<T, T> {
    static __device__ T of(T value) { return value; }
};
template <> struct Cast<float, half> {
    static __device__ float of(half value) { return __half2float(value); }
};
template <> struct Cast<half, float> {
    static __device__ half of(float value) { return __float2half_rn(value); }
};
template <> struct Cast<float, __nv_bfloat16> {
    static __device__ float of(__nv_bfloat16 value) { return __bfloat162float(value); }
};
template <> struct Cast<__nv_bfloat16, float> {
    static __device__ __nv_bfloat16 of(float value) { return __float2bfloat16_rn(value); }
};
template <typename To, typename From> __device__ __forceinline__ To cast(From value) { return Cast<To, From>::of(value); }
} // namespace trainer
