// Vectors: operations that change them use a thread for each element, reductions use one or more workgroups.
#include "vector.cuh"

template <typename T> __device__ __forceinline__ T by_real(typename Number<T>::Real factor, T x) {
    if constexpr (Number<T>::COMPLEX)
        return {factor * x.re, factor * x.im};
    else
        return factor * x;
}

enum Change : unsigned { AXPY, SCAL, COPY, SWAP, ROT, ROTM };

// `Changed` of crates/blas-on-kernels/src/level1.rs.
struct Changed {
    int64_t n;
    Vector x, y;
    Factor alpha, beta;
    Memory parameters; // of ROTM, or null: then `alpha` and the members after it are the flag and the matrix
    double matrix[5];
    unsigned change, batches;
};

template <typename T> __device__ __forceinline__ bool is_real(const Factor &factor) {
    return !Number<T>::COMPLEX || factor.type == F32 || factor.type == F64;
}
template <typename T> __device__ __forceinline__ T times(T factor, bool real, T x) {
    return real ? by_real<T>(reinterpret_cast<const typename Number<T>::Real &>(factor), x) : factor * x;
}

template <typename T> __device__ __forceinline__ void change(const Changed &by) {
    using Real = typename Number<T>::Real;
    const T alpha = by.change == COPY || by.change == SWAP || by.change == ROTM ? zero<T>() : value<T>(by.alpha);
    const T beta = by.change == ROT ? value<T>(by.beta) : zero<T>();
    const bool real_alpha = is_real<T>(by.alpha), real_beta = is_real<T>(by.beta);
    // The element of y is never read: it may hold anything.
    if (by.change == AXPY && alpha == zero<T>())
        return;
    for (size_t batch = blockIdx.y; batch < by.batches; batch += gridDim.y) {
        const Elements<T> x(by.x, batch), y(by.y, batch);
        // ROTM exists only for real types.
        Real h11 = 1, h21 = 0, h12 = 0, h22 = 1;
        if constexpr (!Number<T>::COMPLEX) {
            if (by.change == ROTM) {
                const bool here = by.parameters.at == nullptr;
                const void *p = here ? nullptr : by.parameters.of(batch);
                const auto parameter = [&](unsigned i) { return here ? static_cast<Real>(by.matrix[i]) : read<Real>(p, by.parameters.type, i); };
                const Real flag = parameter(0);
                if (flag == -2)
                    continue;
                h11 = flag == 0 ? 1 : parameter(1), h22 = flag == 0 ? 1 : parameter(4);
                h21 = flag == 1 ? -1 : parameter(2), h12 = flag == 1 ? 1 : parameter(3);
            }
        }
        FOR_EACH_ELEMENT(at, static_cast<size_t>(by.n)) {
            const int64_t i = at;
            const T old_x = x.get(i);
            if (by.change == SCAL) {
                x.set(i, times(alpha, real_alpha, old_x));
                continue;
            }
            if (by.change == COPY) {
                y.set(i, old_x);
                continue;
            }
            const T old_y = y.get(i);
            T new_x = old_y, new_y = old_x;
            if (by.change == AXPY)
                new_y = alpha * old_x + old_y;
            if (by.change == ROT) {
                new_x = times(alpha, real_alpha, old_x) + times(beta, real_beta, old_y);
                new_y = times(alpha, real_alpha, old_y) - times(Number<T>::conj(beta), real_beta, old_x);
            }
            if constexpr (!Number<T>::COMPLEX) {
                if (by.change == ROTM) {
                    new_x = h11 * old_x + h12 * old_y;
                    new_y = h21 * old_x + h22 * old_y;
                }
            }
            if (by.change != AXPY)
                x.set(i, new_x);
            y.set(i, new_y);
        }
    }
}

// `Reduced` of crates/blas-on-kernels/src/level1.rs.
struct Reduced {
    int64_t n;
    Vector x, y;
    void *result;
    void *partial; // the result of each workgroup, for a second launch of one workgroup; or null
    unsigned result_type, batches, parts;
    unsigned second, wide; // the second launch; indices have 64 bits
    unsigned conjugate;    // DOT: conjugate x; search: find the least
};

template <typename T> __device__ __forceinline__ typename Number<T>::Real magnitude(T x) {
    if constexpr (Number<T>::COMPLEX)
        return fabs(x.re) + fabs(x.im);
    else
        return fabs(x);
}

template <typename T> struct Dot {
    using Part = T;
    static __device__ __forceinline__ Part none() { return zero<T>(); }
    static __device__ __forceinline__ Part add(Part a, Part b, unsigned) { return a + b; }
    static __device__ __forceinline__ Part of(const Reduced &by, const Elements<T> &x, const Elements<T> &y, int64_t i) {
        const T left = x.get(i);
        return (by.conjugate != 0 ? Number<T>::conj(left) : left) * y.get(i);
    }
    static __device__ __forceinline__ void put(const Reduced &by, size_t batch, Part part) { write<T>(by.result, by.result_type, batch, part); }
};

// For vectors of f32, whose products are exact in f64.
struct WideDot : Dot<double> {
    static __device__ __forceinline__ double of(const Reduced &, const Elements<double> &x, const Elements<double> &y, int64_t i) {
        return static_cast<double>(read<float>(x.p, F32, i * x.step)) * read<float>(y.p, F32, i * y.step);
    }
};

template <typename T> struct Asum {
    using Part = typename Number<T>::Real;
    static __device__ __forceinline__ Part none() { return 0; }
    static __device__ __forceinline__ Part add(Part a, Part b, unsigned) { return a + b; }
    static __device__ __forceinline__ Part of(const Reduced &, const Elements<T> &x, const Elements<T> &, int64_t i) { return magnitude<T>(x.get(i)); }
    static __device__ __forceinline__ void put(const Reduced &by, size_t batch, Part part) { write<Part>(by.result, by.result_type, batch, part); }
};

// Squares of f32 fit into f64. Squares of f64 beyond its range are scaled and summed separately, as J. L. Blue does.
struct Squares {
    double medium, small, large;
};
constexpr double TINY = 0x1p-511, HUGE = 0x1p486, SCALE_UP = 0x1p537, SCALE_DOWN = 0x1p-538;
__device__ __forceinline__ void add_square(Squares &sum, double x) {
    const double size = fabs(x);
    if (size > HUGE)
        sum.large += size * SCALE_DOWN * (size * SCALE_DOWN);
    else if (size < TINY)
        sum.small += size * SCALE_UP * (size * SCALE_UP);
    else // NaN, too
        sum.medium += size * size;
}
template <typename T> struct Norm {
    using Real = typename Number<T>::Real;
    static constexpr bool WIDE = std::is_same_v<Real, double>;
    using Part = std::conditional_t<WIDE, Squares, double>;
    static __device__ __forceinline__ Part none() { return {}; }
    static __device__ __forceinline__ Part add(Part a, Part b, unsigned) {
        if constexpr (WIDE)
            return {a.medium + b.medium, a.small + b.small, a.large + b.large};
        else
            return a + b;
    }
    static __device__ __forceinline__ Part of(const Reduced &, const Elements<T> &x, const Elements<T> &, int64_t i) {
        const T number = x.get(i);
        if constexpr (WIDE) {
            Part part = none();
            if constexpr (Number<T>::COMPLEX) {
                add_square(part, number.re);
                add_square(part, number.im);
            } else {
                add_square(part, number);
            }
            return part;
        } else if constexpr (Number<T>::COMPLEX) {
            return static_cast<double>(number.re) * number.re + static_cast<double>(number.im) * number.im;
        } else {
            return static_cast<double>(number) * number;
        }
    }
    static __device__ __forceinline__ void put(const Reduced &by, size_t batch, Part part) {
        double norm;
        if constexpr (WIDE) {
            if (part.large > 0 || part.large != part.large)
                norm = sqrt(part.large + part.medium * SCALE_DOWN * SCALE_DOWN) / SCALE_DOWN;
            else if (part.medium == 0)
                norm = sqrt(part.small) / SCALE_UP;
            else {
                const double medium = sqrt(part.medium), small = sqrt(part.small) / SCALE_UP;
                const double ratio = small / medium; // at most about one, or NaN
                norm = medium * sqrt(1 + ratio * ratio);
            }
        } else {
            norm = sqrt(part);
        }
        write<Real>(by.result, by.result_type, batch, static_cast<Real>(norm));
    }
};

// The first of the largest or least magnitudes. As in the reference, a NaN is found only if it comes first.
template <typename R> struct Found {
    R size;
    int64_t at;
};
template <typename T> struct Search {
    using Real = typename Number<T>::Real;
    using Part = Found<Real>;
    static __device__ __forceinline__ Part none() { return {Real(0), -1}; }
    static __device__ __forceinline__ Part add(Part a, Part b, unsigned least) {
        const bool better = least != 0 ? b.size < a.size : b.size > a.size;
        const bool second = a.at < 0 || (b.at >= 0 && (better || (b.size == a.size && b.at < a.at)));
        // Part by part: selecting one of the two would put them into memory.
        return {second ? b.size : a.size, second ? b.at : a.at};
    }
    static __device__ __forceinline__ Part of(const Reduced &by, const Elements<T> &x, const Elements<T> &, int64_t i) {
        Real size = magnitude<T>(x.get(i));
        if (size != size) // NaN: better than all as the first element, otherwise worse than any
            size = (i == 0) == (by.conjugate != 0) ? Real(-1) : static_cast<Real>(INFINITY);
        return {size, i};
    }
    static __device__ __forceinline__ void put(const Reduced &by, size_t batch, Part part) {
        if (by.wide != 0)
            static_cast<int64_t *>(by.result)[batch] = part.at + 1;
        else
            static_cast<int *>(by.result)[batch] = static_cast<int>(part.at + 1);
    }
};

template <typename T, typename Op> __device__ __forceinline__ void reduce(const Reduced &by) {
    using Part = typename Op::Part;
    __shared__ Part parts[THREADS];
    for (size_t batch = blockIdx.y; batch < by.batches; batch += gridDim.y) {
        Part part = Op::none();
        if (by.second != 0) {
            for (unsigned i = threadIdx.x; i < by.parts; i += THREADS)
                part = Op::add(part, static_cast<const Part *>(by.partial)[batch * by.parts + i], by.conjugate);
        } else {
            const Elements<T> x(by.x, batch), y(by.y, batch);
            FOR_EACH_ELEMENT(at, static_cast<size_t>(by.n))
                part = Op::add(part, Op::of(by, x, y, at), by.conjugate);
        }
        parts[threadIdx.x] = part;
        for (unsigned half = THREADS / 2; half > 0; half /= 2) {
            __syncthreads();
            if (threadIdx.x < half)
                parts[threadIdx.x] = Op::add(parts[threadIdx.x], parts[threadIdx.x + half], by.conjugate);
        }
        if (threadIdx.x == 0) {
            if (by.second == 0 && by.partial != nullptr)
                static_cast<Part *>(by.partial)[batch * by.parts + blockIdx.x] = parts[0];
            else
                Op::put(by, batch, parts[0]);
        }
        __syncthreads();
    }
}

// `Rotations` of crates/blas-on-kernels/src/level1/rotations.rs: computes rotations, with a thread for each in the batch.
struct Rotations {
    Memory a, b, c, s;           // of ROTG
    Memory d1, d2, x1, y1, param; // of ROTMG
    unsigned batches, modified;
};

template <typename T> __device__ __forceinline__ typename Number<T>::Real absolute(T x) {
    if constexpr (Number<T>::COMPLEX)
        return hypot(x.re, x.im);
    else
        return fabs(x);
}

template <typename T> __device__ __forceinline__ void rotg(T &a, T &b, typename Number<T>::Real &c, T &s) {
    using Real = typename Number<T>::Real;
    const Real size_a = absolute<T>(a), size_b = absolute<T>(b);
    if constexpr (Number<T>::COMPLEX) {
        if (size_a == 0) {
            c = 0, s = one<T>(), a = b;
            return;
        }
        const Real norm = hypot(size_a, size_b);
        const T direction = {a.re / size_a, a.im / size_a};
        c = size_a / norm;
        s = direction * Number<T>::conj(T{b.re / norm, b.im / norm});
        a = {direction.re * norm, direction.im * norm};
    } else {
        if (size_b == 0) {
            c = 1, s = 0, b = 0;
            return;
        }
        if (size_a == 0) {
            c = 0, s = 1, a = b, b = 1;
            return;
        }
        const Real r = copysign(hypot(a, b), size_a > size_b ? a : b);
        c = a / r, s = b / r;
        b = size_a > size_b ? s : c != 0 ? 1 / c : Real(1);
        a = r;
    }
}

// Lawson, Hanson, Kincaid and Krogh: d1, d2 and x1 are updated, the parameters are a flag and h11, h21, h12, h22.
template <typename R> __device__ __forceinline__ void rotmg(R &d1, R &d2, R &x1, R y1, R (&p)[5]) {
    constexpr R GAMMA = 4096, SQUARE = GAMMA * GAMMA, INVERSE = 1 / SQUARE;
    R flag, h11 = 0, h12 = 0, h21 = 0, h22 = 0;
    const R p2 = d2 * y1;
    if (d1 < 0) {
        flag = -1, d1 = d2 = x1 = 0;
    } else if (p2 == 0) {
        p[0] = -2;
        return;
    } else {
        const R p1 = d1 * x1, q2 = p2 * y1, q1 = p1 * x1;
        bool scaled = true;
        if (fabs(q1) > fabs(q2)) {
            h21 = -y1 / x1, h12 = p2 / p1;
            const R u = 1 - h12 * h21;
            if (u > 0)
                flag = 0, d1 /= u, d2 /= u, x1 *= u;
            else
                flag = -1, h11 = h12 = h21 = h22 = 0, d1 = d2 = x1 = 0, scaled = false;
        } else if (q2 < 0) {
            flag = -1, d1 = d2 = x1 = 0, scaled = false;
        } else {
            flag = 1, h11 = p1 / p2, h22 = x1 / y1;
            const R u = 1 + h11 * h22, other = d2 / u;
            d2 = d1 / u, d1 = other, x1 = y1 * u;
        }
        // From here on all four are given.
        const auto all = [&] {
            // By value: selecting between places would put them into memory.
            h11 = flag == 0 ? 1 : h11, h22 = flag == 0 ? 1 : h22;
            h21 = flag == 1 ? -1 : h21, h12 = flag == 1 ? 1 : h12;
            flag = -1;
        };
        while (scaled && d1 != 0 && (d1 <= INVERSE || d1 >= SQUARE) && d1 - d1 == 0) {
            all();
            if (d1 <= INVERSE)
                d1 *= SQUARE, x1 /= GAMMA, h11 /= GAMMA, h12 /= GAMMA;
            else
                d1 /= SQUARE, x1 *= GAMMA, h11 *= GAMMA, h12 *= GAMMA;
        }
        while (scaled && d2 != 0 && (fabs(d2) <= INVERSE || fabs(d2) >= SQUARE) && d2 - d2 == 0) {
            all();
            if (fabs(d2) <= INVERSE)
                d2 *= SQUARE, h21 /= GAMMA, h22 /= GAMMA;
            else
                d2 /= SQUARE, h21 *= GAMMA, h22 *= GAMMA;
        }
    }
    if (flag < 0)
        p[1] = h11, p[2] = h21, p[3] = h12, p[4] = h22;
    else if (flag == 0)
        p[2] = h21, p[3] = h12;
    else
        p[1] = h11, p[4] = h22;
    p[0] = flag;
}

template <typename T> __device__ __forceinline__ void rotations(const Rotations &given) {
    using Real = typename Number<T>::Real;
    FOR_EACH_ELEMENT(batch, static_cast<size_t>(given.batches)) {
        const Rotations &by = read_again(given);
        if constexpr (!Number<T>::COMPLEX) {
            if (by.modified != 0) {
                Real *d1 = static_cast<Real *>(by.d1.of(batch)), *d2 = static_cast<Real *>(by.d2.of(batch)), *x1 = static_cast<Real *>(by.x1.of(batch));
                Real *param = static_cast<Real *>(by.param.of(batch)), p[5];
                for (unsigned i = 0; i < 5; ++i)
                    p[i] = param[i];
                Real first = *d1, second = *d2, x = *x1;
                rotmg(first, second, x, *static_cast<const Real *>(by.y1.of(batch)), p);
                *d1 = first, *d2 = second, *x1 = x;
                for (unsigned i = 0; i < 5; ++i)
                    param[i] = p[i];
                continue;
            }
        }
        T a = *static_cast<T *>(by.a.of(batch)), b = *static_cast<T *>(by.b.of(batch)), s;
        Real c;
        rotg<T>(a, b, c, s);
        *static_cast<T *>(by.a.of(batch)) = a;
        if constexpr (!Number<T>::COMPLEX)
            *static_cast<T *>(by.b.of(batch)) = b;
        *static_cast<Real *>(by.c.of(batch)) = c;
        *static_cast<T *>(by.s.of(batch)) = s;
    }
}

#define LEVEL1(T, NAME)                                                                                                 \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_change_##NAME(const Changed by) { change<T>(by); }         \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_dot_##NAME(const Reduced by) { reduce<T, Dot<T>>(by); }    \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_asum_##NAME(const Reduced by) { reduce<T, Asum<T>>(by); }  \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_nrm2_##NAME(const Reduced by) { reduce<T, Norm<T>>(by); }  \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_search_##NAME(const Reduced by) { reduce<T, Search<T>>(by); } \
    extern "C" __global__ __launch_bounds__(THREADS) void blas_rotations_##NAME(const Rotations by) { rotations<T>(by); }
LEVEL1(float, f32)
LEVEL1(double, f64)
LEVEL1(Complex<float>, c32)
LEVEL1(Complex<double>, c64)

extern "C" __global__ __launch_bounds__(THREADS) void blas_dot_f32_f64(const Reduced by) { reduce<double, WideDot>(by); }
