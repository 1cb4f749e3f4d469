// Convolutions and transposed convolutions, the copies that turn them into matrix products, pools and resizing. Names and argument lists
// are those of candle 0.11; outputs are contiguous, inputs and kernels have strides.
//
// Sums of 16-bit floats are computed in f32, those of other types in the type itself. Each thread computes one element of the output after
// another.
#include "common.cuh"

// The position of an element in row-major order, split into indices starting with the last dimension.
struct Position {
    size_t rest;
    __device__ __forceinline__ explicit Position(size_t linear) : rest(linear) {}

    // Returns the index in a dimension of this extent, and moves on to the preceding dimension.
    __device__ __forceinline__ size_t take(size_t extent) {
        const Division division = divide(rest, extent);
        rest = division.quotient;
        return division.remainder;
    }
};

// A tensor of N dimensions as kernels receive it: extents, then strides.
template <unsigned N> struct Dims {
    size_t dims[N], strides[N];
    __device__ __forceinline__ explicit Dims(const size_t *info) {
        for (unsigned d = 0; d < N; ++d) {
            dims[d] = info[d];
            strides[d] = info[N + d];
        }
    }
};

// One dimension of a convolution.
struct Axis {
    size_t extent, stride, padding, dilation;

    // The input of output `o` under element `k` of the kernel; for padding, an index beyond `extent`.
    __device__ __forceinline__ size_t input(size_t o, size_t k) const { return o * stride + k * dilation - padding; }
    // The input that element `k` of a transposed convolution's kernel spreads to output `o`; an index beyond `extent` if there is none.
    __device__ __forceinline__ size_t spread_from(size_t o, size_t k) const {
        const size_t at = o + padding, shift = k * dilation;
        if (at < shift)
            return extent;
        const Division division = divide(at - shift, stride);
        return division.remainder == 0 ? division.quotient : extent;
    }
};

// The sum over input channels of the products of an input and a kernel's element.
template <typename T>
__device__ __forceinline__ compute_t<T> dot(compute_t<T> sum, const T *src, size_t src_stride, const T *kernel, size_t kernel_stride,
                                            size_t channels) {
    for (size_t c = 0; c < channels; ++c)
        sum += load(src + c * src_stride) * load(kernel + c * kernel_stride);
    return sum;
}

// `transposed`: the kernel's dimensions are (in, out, …) instead of (out, in, …), and inputs spread to outputs.
template <bool transposed, typename T>
__device__ __forceinline__ void conv1d(size_t l_out, size_t stride, size_t padding, size_t dilation, const size_t *info, const T *src,
                                       const T *kernel, T *dst) {
    const Dims<3> s(info), k(info + 6);
    const Axis axis = {s.dims[2], stride, padding, dilation};
    const unsigned out = transposed ? 1 : 0, in = 1 - out;
    FOR_EACH_ELEMENT(i, s.dims[0] * k.dims[out] * l_out) {
        Position position(i);
        const size_t l = position.take(l_out), c = position.take(k.dims[out]);
        const T *from = src + position.rest * s.strides[0], *with = kernel + c * k.strides[out];
        compute_t<T> sum = 0;
        for (size_t j = 0; j < k.dims[2]; ++j) {
            const size_t at = transposed ? axis.spread_from(l, j) : axis.input(l, j);
            if (at < axis.extent)
                sum = dot(sum, from + at * s.strides[2], s.strides[1], with + j * k.strides[2], k.strides[in], s.dims[1]);
        }
        dst[i] = convert<T>(sum);
    }
}

template <bool transposed, typename T>
__device__ __forceinline__ void conv2d(size_t w_out, size_t h_out, size_t stride, size_t padding, size_t dilation, const size_t *info,
                                       const T *src, const T *kernel, T *dst) {
    const Dims<4> s(info), k(info + 8);
    const Axis high = {s.dims[2], stride, padding, dilation}, wide = {s.dims[3], stride, padding, dilation};
    const unsigned out = transposed ? 1 : 0, in = 1 - out;
    FOR_EACH_ELEMENT(i, s.dims[0] * k.dims[out] * h_out * w_out) {
        Position position(i);
        const size_t x = position.take(w_out), y = position.take(h_out), c = position.take(k.dims[out]);
        const T *from = src + position.rest * s.strides[0], *with = kernel + c * k.strides[out];
        compute_t<T> sum = 0;
        for (size_t u = 0; u < k.dims[2]; ++u) {
            const size_t row = transposed ? high.spread_from(y, u) : high.input(y, u);
            if (row >= high.extent)
                continue;
            for (size_t v = 0; v < k.dims[3]; ++v) {
                const size_t column = transposed ? wide.spread_from(x, v) : wide.input(x, v);
                if (column < wide.extent)
                    sum = dot(sum, from + row * s.strides[2] + column * s.strides[3], s.strides[1],
                              with + u * k.strides[2] + v * k.strides[3], k.strides[in], s.dims[1]);
            }
        }
        dst[i] = convert<T>(sum);
    }
}

// dst (b, l_out, c, l_k) = the inputs under the kernel at each output; `groups` is b · l_out · c.
template <typename T>
__device__ __forceinline__ void im2col1d(size_t groups, size_t l_out, size_t l_k, size_t stride, size_t padding, size_t dilation,
                                         const size_t *info, const T *src, T *dst) {
    const Dims<3> s(info);
    const Axis axis = {s.dims[2], stride, padding, dilation};
    FOR_EACH_ELEMENT(i, groups) {
        Position position(i);
        const size_t c = position.take(s.dims[1]), l = position.take(l_out);
        for (size_t j = 0; j < l_k; ++j) {
            const size_t at = axis.input(l, j);
            dst[i * l_k + j] =
                at < axis.extent ? src[position.rest * s.strides[0] + c * s.strides[1] + at * s.strides[2]] : static_cast<T>(0);
        }
    }
}

// dst (b, h_out, w_out, c, h_k, w_k) = the inputs under the kernel at each output.
template <typename T>
__device__ __forceinline__ void im2col(size_t numel, size_t h_out, size_t w_out, size_t h_k, size_t w_k, size_t stride, size_t padding,
                                       size_t dilation, const size_t *info, const T *src, T *dst) {
    const Dims<4> s(info);
    const Axis high = {s.dims[2], stride, padding, dilation}, wide = {s.dims[3], stride, padding, dilation};
    FOR_EACH_ELEMENT(i, numel) {
        Position position(i);
        const size_t v = position.take(w_k), u = position.take(h_k), c = position.take(s.dims[1]);
        const size_t x = position.take(w_out), y = position.take(h_out);
        const size_t row = high.input(y, u), column = wide.input(x, v);
        const bool inside = row < high.extent && column < wide.extent;
        dst[i] = inside ? src[position.rest * s.strides[0] + c * s.strides[1] + row * s.strides[2] + column * s.strides[3]]
                        : static_cast<T>(0);
    }
}

// dst (b, c, l_out) = the sums of what src (b, l_in, c, k) spreads to each output.
template <typename T>
__device__ __forceinline__ void col2im1d(size_t numel, size_t l_out, size_t l_in, size_t channels, size_t k, size_t stride, const T *src,
                                         T *dst) {
    FOR_EACH_ELEMENT(i, numel) {
        Position position(i);
        const size_t l = position.take(l_out), c = position.take(channels);
        compute_t<T> sum = 0;
        const Division first = divide(l, stride);
        size_t from = first.quotient;
        for (size_t j = first.remainder; j < k; j += stride) {
            if (from < l_in)
                sum += load(src + ((position.rest * l_in + from) * channels + c) * k + j);
            if (from-- == 0)
                break;
        }
        dst[i] = convert<T>(sum);
    }
}

// How an average is computed: integers are summed in 64 bits, and the quotient is truncated.
template <typename T> struct Average {
    using type = uint64_t;
};
template <> struct Average<float> {
    using type = float;
};
template <> struct Average<double> {
    using type = double;
};

// Pools of h_k × w_k elements. As with `fast_max` in reduce.cu, the largest is a NaN only if the first element is.
template <bool average, typename T>
__device__ __forceinline__ void pool2d(size_t h_k, size_t w_k, size_t h_stride, size_t w_stride, const size_t *info, const T *src, T *dst) {
    using A = compute_t<T>;
    using S = typename Average<A>::type;
    const Dims<4> s(info);
    if (s.dims[2] < h_k || s.dims[3] < w_k)
        return;
    const size_t h_out = (s.dims[2] - h_k) / h_stride + 1, w_out = (s.dims[3] - w_k) / w_stride + 1;
    FOR_EACH_ELEMENT(i, s.dims[0] * s.dims[1] * h_out * w_out) {
        Position position(i);
        const size_t x = position.take(w_out), y = position.take(h_out), c = position.take(s.dims[1]);
        const T *from = src + position.rest * s.strides[0] + c * s.strides[1] + y * h_stride * s.strides[2] + x * w_stride * s.strides[3];
        S sum = 0;
        A largest = load(from);
        for (size_t u = 0; u < h_k; ++u) {
            for (size_t v = 0; v < w_k; ++v) {
                const A element = load(from + u * s.strides[2] + v * s.strides[3]);
                if constexpr (average)
                    sum += element;
                else if (largest < element)
                    largest = element;
            }
        }
        dst[i] = average ? convert<T>(sum / static_cast<S>(h_k * w_k)) : convert<T>(largest);
    }
}

// Resizing by the nearest input. The first size belongs to the first of the two dimensions.
template <typename T>
__device__ __forceinline__ void nearest2d(size_t h_out, size_t w_out, double h_scale, double w_scale, const size_t *info, const T *src,
                                          T *dst) {
    const Dims<4> s(info);
    FOR_EACH_ELEMENT(i, s.dims[0] * s.dims[1] * h_out * w_out) {
        Position position(i);
        const size_t x = position.take(w_out), y = position.take(h_out), c = position.take(s.dims[1]);
        const size_t row = static_cast<size_t>(y * h_scale), column = static_cast<size_t>(x * w_scale);
        dst[i] = src[position.rest * s.strides[0] + c * s.strides[1] + (row < s.dims[2] ? row : s.dims[2] - 1) * s.strides[2] +
                     (column < s.dims[3] ? column : s.dims[3] - 1) * s.strides[3]];
    }
}

// The two inputs that an output lies between, and how near it is to the second.
struct Between {
    size_t first, second;
    double weight;

    __device__ __forceinline__ Between(size_t o, size_t in, size_t out, bool align_corners, bool has_factor, double factor) {
        double at;
        if (align_corners)
            at = out > 1 ? o * (static_cast<double>(in - 1) / static_cast<double>(out - 1)) : 0.0;
        else
            at = (has_factor ? 1.0 / factor : static_cast<double>(in) / static_cast<double>(out)) * (o + 0.5) - 0.5;
        at = fmax(0.0, at);
        const size_t last = in - 1, whole = static_cast<size_t>(at);
        first = whole < last ? whole : last;
        second = first < last ? first + 1 : last;
        weight = fmin(fmax(at - static_cast<double>(first), 0.0), 1.0);
    }
};

// Resizing by linear interpolation in both dimensions; integers are computed in f64.
template <typename T>
__device__ __forceinline__ void bilinear2d(size_t w_out, size_t h_out, bool align_corners, bool has_scale_h, double scale_h, bool has_scale_w,
                                           double scale_w, const size_t *info, const T *src, T *dst) {
    const Dims<4> s(info);
    FOR_EACH_ELEMENT(i, s.dims[0] * s.dims[1] * h_out * w_out) {
        Position position(i);
        const size_t x = position.take(w_out), y = position.take(h_out), c = position.take(s.dims[1]);
        const Between rows(y, s.dims[2], h_out, align_corners, has_scale_h, scale_h);
        const Between columns(x, s.dims[3], w_out, align_corners, has_scale_w, scale_w);
        const T *from = src + position.rest * s.strides[0] + c * s.strides[1];
        const auto in_row = [&](size_t row) {
            const T *at = from + row * s.strides[2];
            return convert<double>(at[columns.first * s.strides[3]]) * (1.0 - columns.weight) +
                   convert<double>(at[columns.second * s.strides[3]]) * columns.weight;
        };
        dst[i] = convert<T>(in_row(rows.first) * (1.0 - rows.weight) + in_row(rows.second) * rows.weight);
    }
}

#define CONV(T, NAME)                                                                                                  \
    extern "C" __global__ void conv1d_##NAME(const size_t numel, const size_t l_out, const size_t stride, const size_t padding, \
                                             const size_t dilation, const size_t *info, const T *src, const T *kernel, T *dst) { \
        conv1d<false>(l_out, stride, padding, dilation, info, src, kernel, dst);                                       \
    }                                                                                                                  \
    extern "C" __global__ void conv_transpose1d_##NAME(const size_t numel, const size_t l_out, const size_t stride, const size_t padding, \
                                                       const size_t out_padding, const size_t dilation, const size_t *info, \
                                                       const T *src, const T *kernel, T *dst) {                        \
        conv1d<true>(l_out, stride, padding, dilation, info, src, kernel, dst);                                        \
    }                                                                                                                  \
    extern "C" __global__ void conv2d_##NAME(const size_t numel, const size_t w_out, const size_t h_out, const size_t stride, \
                                             const size_t padding, const size_t dilation, const size_t *info, const T *src, \
                                             const T *kernel, T *dst) {                                                \
        conv2d<false>(w_out, h_out, stride, padding, dilation, info, src, kernel, dst);                                \
    }                                                                                                                  \
    extern "C" __global__ void conv_transpose2d_##NAME(const size_t numel, const size_t w_out, const size_t h_out, const size_t stride, \
                                                       const size_t padding, const size_t out_padding, const size_t dilation, \
                                                       const size_t *info, const T *src, const T *kernel, T *dst) {    \
        conv2d<true>(w_out, h_out, stride, padding, dilation, info, src, kernel, dst);                                 \
    }                                                                                                                  \
    extern "C" __global__ void im2col1d_##NAME(const size_t groups, const size_t l_out, const size_t l_k, const size_t stride, \
                                               const size_t padding, const size_t dilation, const size_t *info, const T *src, T *dst) { \
        im2col1d(groups, l_out, l_k, stride, padding, dilation, info, src, dst);                                       \
    }                                                                                                                  \
    extern "C" __global__ void im2col_##NAME(const size_t numel, const size_t h_out, const size_t w_out, const size_t h_k, const size_t w_k, \
                                             const size_t stride, const size_t padding, const size_t dilation, const size_t *info, \
                                             const T *src, T *dst) {                                                   \
        im2col(numel, h_out, w_out, h_k, w_k, stride, padding, dilation, info, src, dst);                              \
    }                                                                                                                  \
    extern "C" __global__ void col2im1d_##NAME(const size_t numel, const size_t l_out, const size_t l_in, const size_t channels, \
                                               const size_t k, const size_t stride, const T *src, T *dst) {            \
        col2im1d(numel, l_out, l_in, channels, k, stride, src, dst);                                                   \
    }
#define POOL(T, NAME, AVERAGE)                                                                                         \
    extern "C" __global__ void NAME(const size_t numel, const size_t h_k, const size_t w_k, const size_t h_stride, const size_t w_stride, \
                                    const size_t *info, const T *src, T *dst) {                                        \
        pool2d<AVERAGE>(h_k, w_k, h_stride, w_stride, info, src, dst);                                                 \
    }
#define RESIZE(T, NAME)                                                                                                \
    extern "C" __global__ void upsample_nearest2d_##NAME(const size_t h_out, const size_t w_out, const double h_scale, const double w_scale, \
                                                         const size_t *info, const T *src, T *dst) {                   \
        nearest2d(h_out, w_out, h_scale, w_scale, info, src, dst);                                                     \
    }                                                                                                                  \
    extern "C" __global__ void upsample_bilinear2d_##NAME(const size_t w_out, const size_t h_out, const bool align_corners, \
                                                          const bool has_scale_h, const double scale_h, const bool has_scale_w, \
                                                          const double scale_w, const size_t *info, const T *src, T *dst) { \
        bilinear2d(w_out, h_out, align_corners, has_scale_h, scale_h, has_scale_w, scale_w, info, src, dst);           \
    }

#define ALL(T, NAME) CONV(T, NAME) POOL(T, avg_pool2d_##NAME, true) POOL(T, max_pool2d_##NAME, false) RESIZE(T, NAME)
ALL(float, f32)
ALL(double, f64)
ALL(__half, f16)
ALL(__nv_bfloat16, bf16)
ALL(uint8_t, u8)
ALL(uint32_t, u32)
