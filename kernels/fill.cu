// Constant fill and two-dimensional copies. Only the size of elements matters.
#include "elementwise.cuh"

// buf[i] = value
template <typename T> __device__ __forceinline__ void fill(T *buf, T value, size_t numel) {
    constexpr unsigned N = 16 / sizeof(T);
    Lanes<T, N> all = {};
    for (unsigned i = 0; i < N; ++i)
        all.push(value);
    const size_t vectors = Lanes<T, N>::aligned(buf) ? numel / N : 0;
    FOR_EACH_ELEMENT(i, numel - vectors * (N - 1)) {
        if (i < vectors)
            all.store_all(buf + i * N);
        else
            buf[i + vectors * (N - 1)] = value;
    }
}

template <typename T> __device__ __forceinline__ void set_strided(size_t numel, const Layout &layout, T value, T *out) {
    if (layout.contiguous)
        return fill(out, value, numel);
    FOR_EACH_ELEMENT(i, numel) { out[layout.offset(i)] = value; }
}

template <typename T> __device__ __forceinline__ void copy_rows(const T *src, T *dst, unsigned d1, unsigned d2, unsigned src_stride, unsigned dst_stride) {
    FOR_EACH_ELEMENT(i, static_cast<size_t>(d1) * d2) {
        const Division at = divide(i, d2);
        dst[at.quotient * dst_stride + at.remainder] = src[at.quotient * src_stride + at.remainder];
    }
}

// If everything is a multiple of 16 bytes, it is copied in units of 16 bytes.
template <typename T> __device__ __forceinline__ void copy_matrix(const T *src, T *dst, unsigned d1, unsigned d2, unsigned src_stride, unsigned dst_stride) {
    constexpr unsigned N = 16 / sizeof(T);
    if ((d2 | src_stride | dst_stride) % N == 0 && Lanes<T, N>::aligned(src) && Lanes<T, N>::aligned(dst))
        copy_rows(reinterpret_cast<const uint4 *>(src), reinterpret_cast<uint4 *>(dst), d1, d2 / N, src_stride / N, dst_stride / N);
    else
        copy_rows(src, dst, d1, d2, src_stride, dst_stride);
}

#define FILL(T, NAME)                                                                                                  \
    extern "C" __global__ void fill_##NAME(T *buf, T value, const size_t numel) { fill(bits(buf), *bits(&value), numel); }

// Writes `value` to every element of a strided tensor.
#define CONST_SET(T, NAME)                                                                                             \
    extern "C" __global__ void const_set_##NAME(const size_t numel, const size_t num_dims, const size_t *__restrict__ info, T value, T *out) { \
        set_strided(numel, Layout(num_dims, info), *bits(&value), bits(out));                                          \
    }

// Copies a d1×d2 matrix between row pitches, in elements.
#define COPY2D(T, NAME)                                                                                                \
    extern "C" __global__ void copy2d_##NAME(const T *src, T *dst, unsigned d1, unsigned d2, unsigned src_stride, unsigned dst_stride) { \
        copy_matrix(bits(src), bits(dst), d1, d2, src_stride, dst_stride);                                             \
    }

#define ALL(T, NAME) FILL(T, NAME) CONST_SET(T, NAME) COPY2D(T, NAME)
ALL(float, f32)
ALL(double, f64)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(f8_e4m3, f8_e4m3)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
ALL(int64_t, i64)
