// CUDA's vector types for a source in CUDA's dialect, in place of HIP's: aggregates without constructors and operators, because programs
// bring operators of their own and initialise vectors by lists. The templates have HIP's names, by which HIP's headers know them.
#pragma once
#define HIP_INCLUDE_HIP_AMD_DETAIL_HIP_VECTOR_TYPES_H
#if !defined(__HIP_USE_NATIVE_VECTOR__)
#define __HIP_USE_NATIVE_VECTOR__ 1
#endif
#define __NATIVE_VECTOR__(n, T) T __attribute__((ext_vector_type(n)))

// Vectors as the compiler's built-in functions take them.
template <typename T, unsigned int N> struct HIP_vector_base {
    using Native_vec_ = T __attribute__((ext_vector_type(N)));
    using value_type = T;
};
// Vectors of two and four lie at multiples of their size, of at most 16 bytes.
template <typename T, unsigned int N> struct HIP_vector_type;
#define __CUDA_VECTOR(N, ALIGN, ...)                                        \
    template <typename T> struct ALIGN HIP_vector_type<T, N> {              \
        using Native_vec_ = typename HIP_vector_base<T, N>::Native_vec_;    \
        using value_type = T;                                               \
        T __VA_ARGS__;                                                      \
    };
__CUDA_VECTOR(1, , x)
__CUDA_VECTOR(2, alignas(2 * sizeof(T)), x, y)
__CUDA_VECTOR(3, , x, y, z)
__CUDA_VECTOR(4, alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16), x, y, z, w)
#undef __CUDA_VECTOR
// The type of threadIdx in CUDA, whose other uses take it for a dim3 and the reverse.
struct dim3;
template <> struct HIP_vector_type<unsigned, 3> {
    using Native_vec_ = typename HIP_vector_base<unsigned, 3>::Native_vec_;
    using value_type = unsigned;
    unsigned x, y, z;
    HIP_vector_type() = default;
    __host__ __device__ constexpr HIP_vector_type(std::initializer_list<unsigned> all)
        : x(all.size() > 0 ? all.begin()[0] : 0), y(all.size() > 1 ? all.begin()[1] : 0), z(all.size() > 2 ? all.begin()[2] : 0) {}
    template <typename I, int I::* = nullptr, typename D = dim3, typename = decltype(static_cast<D>(*static_cast<const I *>(nullptr)))>
    __host__ __device__ HIP_vector_type(const I &index) {
        const D all = static_cast<D>(index);
        x = all.x;
        y = all.y;
        z = all.z;
    }
    __host__ __device__ operator dim3() const;
};

template <typename T, unsigned int N>
static __host__ __device__ __attribute__((always_inline)) inline typename HIP_vector_base<T, N>::Native_vec_ &get_native_vector(HIP_vector_type<T, N> &vector) {
    return *reinterpret_cast<typename HIP_vector_base<T, N>::Native_vec_ *>(&vector);
}
template <typename T, unsigned int N>
static __host__ __device__ __attribute__((always_inline)) inline const typename HIP_vector_base<T, N>::Native_vec_ &get_native_vector(const HIP_vector_type<T, N> &vector) {
    return *reinterpret_cast<const typename HIP_vector_base<T, N>::Native_vec_ *>(&vector);
}

// HIP's headers of textures map vectors to shorter and longer ones; missing elements are 0.
template <typename T, unsigned int N, typename U, unsigned int M>
static __host__ __device__ __attribute__((always_inline)) inline const HIP_vector_type<T, N> __hipMapVector(const HIP_vector_type<U, M> &from) {
    HIP_vector_type<T, N> to = {};
    to.x = static_cast<T>(from.x);
    if constexpr (N >= 2 && M >= 2)
        to.y = static_cast<T>(from.y);
    if constexpr (N >= 4 && M >= 4) {
        to.z = static_cast<T>(from.z);
        to.w = static_cast<T>(from.w);
    }
    return to;
}

#define __CUDA_VECTORS(NAME, T)                                                                                                     \
    using NAME##1 = HIP_vector_type<T, 1>;                                                                                          \
    using NAME##2 = HIP_vector_type<T, 2>;                                                                                          \
    using NAME##3 = HIP_vector_type<T, 3>;                                                                                          \
    using NAME##4 = HIP_vector_type<T, 4>;                                                                                          \
    static __host__ __device__ __attribute__((always_inline, unused)) inline constexpr NAME##1 make_##NAME##1(T x) { return {x}; }   \
    static __host__ __device__ __attribute__((always_inline, unused)) inline constexpr NAME##2 make_##NAME##2(T x, T y) { return {x, y}; } \
    static __host__ __device__ __attribute__((always_inline, unused)) inline constexpr NAME##3 make_##NAME##3(T x, T y, T z) {       \
        return {x, y, z};                                                                                                           \
    }                                                                                                                               \
    static __host__ __device__ __attribute__((always_inline, unused)) inline constexpr NAME##4 make_##NAME##4(T x, T y, T z, T w) {  \
        return {x, y, z, w};                                                                                                        \
    }
__CUDA_VECTORS(char, char)
__CUDA_VECTORS(uchar, unsigned char)
__CUDA_VECTORS(short, short)
__CUDA_VECTORS(ushort, unsigned short)
__CUDA_VECTORS(int, int)
__CUDA_VECTORS(uint, unsigned int)
__CUDA_VECTORS(long, long)
__CUDA_VECTORS(ulong, unsigned long)
__CUDA_VECTORS(longlong, long long)
__CUDA_VECTORS(ulonglong, unsigned long long)
__CUDA_VECTORS(float, float)
__CUDA_VECTORS(double, double)
#undef __CUDA_VECTORS

// What HIP's headers of narrow types know as float2 and float4 (ferrocm_hip_begin.h): with the constructors that they call.
struct __cuda_hip_float2 : float2 {
    __cuda_hip_float2() = default;
    __host__ __device__ constexpr __cuda_hip_float2(const float2 &from) : float2(from) {}
    template <typename X, typename Y>
    __host__ __device__ constexpr __cuda_hip_float2(X x, Y y) : float2{static_cast<float>(x), static_cast<float>(y)} {}
};
struct __cuda_hip_float4 : float4 {
    __cuda_hip_float4() = default;
    __host__ __device__ constexpr __cuda_hip_float4(const float4 &from) : float4(from) {}
    template <typename X, typename Y, typename Z, typename W>
    __host__ __device__ constexpr __cuda_hip_float4(X x, Y y, Z z, W w)
        : float4{static_cast<float>(x), static_cast<float>(y), static_cast<float>(z), static_cast<float>(w)} {}
};
