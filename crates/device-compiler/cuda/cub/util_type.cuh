// CUB's <cub/util_type.cuh> for AMD targets, and the shared parts of CUB: types, operations, positions in a block.
#pragma once
#include "../ferrocm_letters_begin.h"
#include "../cuda_runtime.h"
#include "../cuda_fp16.h"
#include "../cuda_bf16.h"
// As CUB's own: HIP's header for it cannot be read after `using namespace cub`.
#if !defined(__HIPCC_RTC__)
#include "../cuda_fp8.h"
#include "../ferrocm_wrapped.h"
#endif
#include "../ferrocm_warp.h"
// Where AMD's hipCUB is there, these types are its own, because its functions for whole devices take them.
#if !defined(__HIPCC_RTC__) && __has_include(<hipcub/util_type.hpp>)
#define __CUDA_HIPCUB__ 1
#include "../ferrocm_rocm_begin.h"
#include <hipcub/util_type.hpp>
#include "../ferrocm_hip_end.h"
#endif
#include <type_traits>
#include <utility>
#include <limits>
#include <iterator>
#include <cstdint>
// Programs take FLT_MAX and INT_MAX from CUB, too.
#include <cfloat>
#include <climits>

#define CUB_INLINE __device__ __attribute__((always_inline)) inline
#define CUB_VERSION 200800
#define CUB_PTX_ARCH 890
#define CUB_NS_PREFIX
#define CUB_NS_POSTFIX
#define CUB_NAMESPACE_BEGIN namespace cub {
#define CUB_NAMESPACE_END }
#define CUB_RUNTIME_FUNCTION __host__ __device__
#define CUB_PTX_WARP_THREADS 32
#define CUB_WARP_THREADS(unused) 32
#define CUB_LOG_WARP_THREADS(unused) 5
#define CUB_MIN(a, b) (((a) > (b)) ? (b) : (a))
#define CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y) - 1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))

namespace cub {
struct NullType {
    template <typename T> __host__ __device__ NullType &operator=(const T &) { return *this; }
    __host__ __device__ bool operator==(const NullType &) const { return true; }
    __host__ __device__ bool operator!=(const NullType &) const { return false; }
};
template <int A> struct Int2Type { enum { VALUE = A }; };
template <int N, int CURRENT = N, int COUNT = 0> struct Log2 {
    enum { VALUE = Log2<N, (CURRENT >> 1), COUNT + 1>::VALUE };
};
template <int N, int COUNT> struct Log2<N, 0, COUNT> {
    enum { VALUE = (1 << (COUNT - 1)) < N ? COUNT : COUNT - 1 };
};
template <int N> struct PowerOfTwo { enum { VALUE = (N & (N - 1)) == 0 }; };
template <bool CONDITION, typename A, typename B> struct If { typedef typename std::conditional<CONDITION, A, B>::type Type; };
template <typename A, typename B> struct Equals { enum { VALUE = std::is_same<A, B>::value, NEGATE = !VALUE }; };

// Uninitialised memory for a T.
template <typename T> struct Uninitialized {
    alignas(T) unsigned char storage[sizeof(T)];
    __host__ __device__ __attribute__((always_inline)) T &Alias() { return *reinterpret_cast<T *>(storage); }
};

// `count` values in shared memory.
template <typename T, int COUNT> struct __cuda_slots {
    alignas(T) unsigned char storage[sizeof(T) * COUNT];
    __device__ __attribute__((always_inline)) T &operator[](int i) { return reinterpret_cast<T *>(storage)[i]; }
};

#if defined(__CUDA_HIPCUB__)
using hipcub::DoubleBuffer;
using hipcub::KeyValuePair;
#else
template <typename K, typename V> struct KeyValuePair {
    typedef K Key;
    typedef V Value;
    K key;
    V value;
    KeyValuePair() = default;
    __host__ __device__ KeyValuePair(const K &key, const V &value) : key(key), value(value) {}
    __host__ __device__ bool operator==(const KeyValuePair &o) const { return key == o.key && value == o.value; }
    __host__ __device__ bool operator!=(const KeyValuePair &o) const { return !(*this == o); }
};

template <typename T> struct DoubleBuffer {
    T *d_buffers[2];
    int selector;
    __host__ __device__ DoubleBuffer() : d_buffers{nullptr, nullptr}, selector(0) {}
    __host__ __device__ DoubleBuffer(T *current, T *alternate) : d_buffers{current, alternate}, selector(0) {}
    __host__ __device__ T *Current() { return d_buffers[selector]; }
    __host__ __device__ T *Alternate() { return d_buffers[selector ^ 1]; }
};
#endif

enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };

// Bits that order as unsigned numbers like the keys.
template <int BYTES> struct __cuda_bits;
template <> struct __cuda_bits<1> { typedef uint8_t type; };
template <> struct __cuda_bits<2> { typedef uint16_t type; };
template <> struct __cuda_bits<4> { typedef uint32_t type; };
template <> struct __cuda_bits<8> { typedef uint64_t type; };
template <typename T> struct __cuda_is_float {
    static constexpr bool value = std::is_floating_point<T>::value || std::is_same<T, __half>::value || std::is_same<T, __nv_bfloat16>::value;
};
template <typename T> struct Traits {
    typedef typename __cuda_bits<sizeof(T)>::type UnsignedBits;
    static constexpr Category CATEGORY = __cuda_is_float<T>::value         ? FLOATING_POINT
                                         : !std::is_arithmetic<T>::value  ? NOT_A_NUMBER
                                         : std::is_signed<T>::value       ? SIGNED_INTEGER
                                                                          : UNSIGNED_INTEGER;
    static constexpr bool PRIMITIVE = CATEGORY != NOT_A_NUMBER, NULL_TYPE = false;
    static constexpr UnsignedBits HIGH = static_cast<UnsignedBits>(UnsignedBits(1) << (sizeof(T) * 8 - 1));
    static __host__ __device__ __attribute__((always_inline)) UnsignedBits Ordered(const T &key) {
        UnsignedBits bits;
        __builtin_memcpy(&bits, static_cast<const void *>(&key), sizeof(T));
        if (CATEGORY == FLOATING_POINT) {
            // Both zeros are the same key.
            if (bits == HIGH)
                bits = 0;
            return static_cast<UnsignedBits>(bits & HIGH ? ~bits : bits ^ HIGH);
        }
        return static_cast<UnsignedBits>(CATEGORY == SIGNED_INTEGER ? bits ^ HIGH : bits);
    }
};

// Operations.
#define __CUDA_CUB_OPERATION(NAME, EXPRESSION)                                                                             \
    struct NAME {                                                                                                          \
        template <typename A, typename B>                                                                                  \
        __host__ __device__ __attribute__((always_inline)) constexpr auto operator()(const A &a, const B &b) const         \
            -> typename std::decay<decltype(EXPRESSION)>::type {                                                           \
            return EXPRESSION;                                                                                             \
        }                                                                                                                  \
    };
__CUDA_CUB_OPERATION(Sum, a + b)
__CUDA_CUB_OPERATION(Difference, a - b)
__CUDA_CUB_OPERATION(Division, a / b)
__CUDA_CUB_OPERATION(Max, a < b ? b : a)
__CUDA_CUB_OPERATION(Min, b < a ? b : a)
__CUDA_CUB_OPERATION(Equality, a == b)
__CUDA_CUB_OPERATION(Inequality, a != b)
#undef __CUDA_CUB_OPERATION
template <typename Op> struct InequalityWrapper {
    Op op;
    __host__ __device__ explicit InequalityWrapper(Op op) : op(op) {}
    template <typename A, typename B> __host__ __device__ bool operator()(const A &a, const B &b) { return !op(a, b); }
};
// The pair with the larger or the smaller value; if they are equal, the one with the lower key.
struct ArgMax {
    template <typename V, typename K>
    __host__ __device__ KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const {
        return a.value < b.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
struct ArgMin {
    template <typename V, typename K>
    __host__ __device__ KeyValuePair<K, V> operator()(const KeyValuePair<K, V> &a, const KeyValuePair<K, V> &b) const {
        return b.value < a.value || (a.value == b.value && b.key < a.key) ? b : a;
    }
};
template <typename B> struct CastOp {
    template <typename A> __host__ __device__ B operator()(const A &a) const { return static_cast<B>(a); }
};
template <typename Op> class SwizzleScanOp {
    Op op;

  public:
    __host__ __device__ SwizzleScanOp(Op op) : op(op) {}
    template <typename T> __host__ __device__ T operator()(const T &a, const T &b) { return op(b, a); }
};
// Pairs of a number of segment heads and a value: the sum restarts at each head.
template <typename Op> struct ReduceBySegmentOp {
    Op op;
    ReduceBySegmentOp() = default;
    __host__ __device__ ReduceBySegmentOp(Op op) : op(op) {}
    template <typename P> __host__ __device__ P operator()(const P &a, const P &b) {
        P r;
        r.key = a.key + b.key;
        r.value = b.key ? b.value : static_cast<decltype(r.value)>(op(a.value, b.value));
        return r;
    }
};
template <typename Op> struct ReduceByKeyOp {
    Op op;
    ReduceByKeyOp() = default;
    __host__ __device__ ReduceByKeyOp(Op op) : op(op) {}
    template <typename P> __host__ __device__ P operator()(const P &a, const P &b) {
        P r = b;
        if (a.key == b.key)
            r.value = op(a.value, b.value);
        return r;
    }
};

// Whether F can be called with these arguments.
template <typename Enable, typename F, typename... A> struct __cuda_callable_with { static constexpr bool value = false; };
template <typename F, typename... A>
struct __cuda_callable_with<decltype(void(std::declval<F &>()(std::declval<A>()...))), F, A...> { static constexpr bool value = true; };
template <typename Op, typename T> using __cuda_if_binary = typename std::enable_if<__cuda_callable_with<void, Op, T, T>::value, int>::type;
template <typename Op, typename T> using __cuda_if_unary = typename std::enable_if<__cuda_callable_with<void, Op, T>::value, int>::type;

// The position of a thread.
CUB_INLINE unsigned LaneId() { return __cuda_lane(); }
CUB_INLINE int RowMajorTid(int x, int y, int) {
    return (static_cast<int>(threadIdx.z) * y + static_cast<int>(threadIdx.y)) * x + static_cast<int>(threadIdx.x);
}
template <int X, int Y, int Z> CUB_INLINE int __cuda_thread() {
    return Y == 1 && Z == 1 ? static_cast<int>(threadIdx.x) : RowMajorTid(X, Y, Z);
}
CUB_INLINE unsigned WarpId() { return RowMajorTid(blockDim.x, blockDim.y, blockDim.z) / 32; }
CUB_INLINE unsigned LaneMaskLt() { return (1u << LaneId()) - 1; }
CUB_INLINE unsigned LaneMaskLe() { return 2u * (1u << LaneId()) - 1; }
CUB_INLINE unsigned LaneMaskGt() { return ~LaneMaskLe(); }
CUB_INLINE unsigned LaneMaskGe() { return ~LaneMaskLt(); }
CUB_INLINE void CTA_SYNC() { __syncthreads(); }
CUB_INLINE int CTA_SYNC_AND(int p) { return __syncthreads_and(p); }
CUB_INLINE int CTA_SYNC_OR(int p) { return __syncthreads_or(p); }
CUB_INLINE void WARP_SYNC(unsigned mask) { __cuda_syncwarp(mask); }
CUB_INLINE int WARP_ANY(int p, unsigned mask) { return __cuda_any_sync(mask, p); }
CUB_INLINE int WARP_ALL(int p, unsigned mask) { return __cuda_all_sync(mask, p); }
CUB_INLINE int WARP_BALLOT(int p, unsigned mask) { return __cuda_ballot_sync(mask, p); }
CUB_INLINE unsigned SHFL_IDX_SYNC(unsigned word, int lane, unsigned) { return __cuda_from_lane(word, lane); }
template <int LOGICAL_WARP_THREADS, typename T> CUB_INLINE T ShuffleIndex(T value, int lane, unsigned) {
    return __cuda_shfl(value, lane, LOGICAL_WARP_THREADS);
}
// As in CUB: `first_lane` and `last_lane` refer to the logical warp.
template <int LOGICAL_WARP_THREADS, typename T> CUB_INLINE T ShuffleUp(T value, int offset, int first_lane, unsigned) {
    const int lane = __cuda_lane(), within = lane % LOGICAL_WARP_THREADS;
    return __cuda_from_lane(value, within - offset < first_lane ? lane : lane - offset);
}
template <int LOGICAL_WARP_THREADS, typename T> CUB_INLINE T ShuffleDown(T value, int offset, int last_lane, unsigned) {
    const int lane = __cuda_lane(), within = lane % LOGICAL_WARP_THREADS;
    return __cuda_from_lane(value, within + offset > last_lane ? lane : lane + offset);
}
template <int LOGICAL_WARP_THREADS> CUB_INLINE unsigned WarpMask(unsigned warp) {
    return LOGICAL_WARP_THREADS == 32 ? 0xffffffffu : ((1u << LOGICAL_WARP_THREADS % 32) - 1) << warp * LOGICAL_WARP_THREADS;
}
template <int BITS> CUB_INLINE unsigned MatchAny(unsigned label) {
    unsigned same = __cuda_activemask();
    for (int bit = 0; bit < BITS; bit++) {
        const unsigned set = __cuda_ballot(label >> bit & 1);
        same &= label >> bit & 1 ? set : ~set;
    }
    return same;
}
template <typename U> CUB_INLINE unsigned BFE(U source, unsigned start, unsigned bits) {
    return static_cast<unsigned>(source >> start) & static_cast<unsigned>((1ull << bits) - 1);
}
CUB_INLINE unsigned PRMT(unsigned a, unsigned b, unsigned index) { return __byte_perm(a, b, index); }
CUB_INLINE unsigned SHR_ADD(unsigned x, unsigned shift, unsigned add) { return (x >> shift) + add; }
CUB_INLINE unsigned SHL_ADD(unsigned x, unsigned shift, unsigned add) { return (x << shift) + add; }

template <typename T, typename Op, typename U> CUB_INLINE T __cuda_apply(Op &op, const T &a, const U &b) { return static_cast<T>(op(a, b)); }

// Plain loads and stores; hints for the caches have no effect.
enum CacheLoadModifier { LOAD_DEFAULT, LOAD_CA, LOAD_CG, LOAD_CS, LOAD_CV, LOAD_LDG, LOAD_VOLATILE };
enum CacheStoreModifier { STORE_DEFAULT, STORE_WB, STORE_CG, STORE_CS, STORE_WT, STORE_VOLATILE };
template <CacheLoadModifier, typename Iterator>
CUB_INLINE typename std::iterator_traits<Iterator>::value_type ThreadLoad(Iterator at) { return *at; }
template <CacheStoreModifier, typename Iterator, typename T> CUB_INLINE void ThreadStore(Iterator at, T value) { *at = value; }

namespace internal {
template <int LENGTH, typename T, typename Op> CUB_INLINE T ThreadReduce(const T *input, Op op, T prefix) {
    for (int i = 0; i < LENGTH; i++)
        prefix = __cuda_apply(op, prefix, input[i]);
    return prefix;
}
template <int LENGTH, typename T, typename Op> CUB_INLINE T ThreadReduce(const T *input, Op op) {
    T total = input[0];
    for (int i = 1; i < LENGTH; i++)
        total = __cuda_apply(op, total, input[i]);
    return total;
}
template <int LENGTH, typename T, typename Op> CUB_INLINE T ThreadReduce(const T (&input)[LENGTH], Op op, T prefix) {
    return ThreadReduce<LENGTH>(static_cast<const T *>(input), op, prefix);
}
template <int LENGTH, typename T, typename Op> CUB_INLINE T ThreadReduce(const T (&input)[LENGTH], Op op) {
    return ThreadReduce<LENGTH>(static_cast<const T *>(input), op);
}
template <int LENGTH, typename T, typename Op>
CUB_INLINE T ThreadScanInclusive(const T (&input)[LENGTH], T (&output)[LENGTH], Op op, T prefix, bool apply = true) {
    T total = apply ? __cuda_apply(op, prefix, input[0]) : input[0];
    output[0] = total;
    for (int i = 1; i < LENGTH; i++)
        output[i] = total = __cuda_apply(op, total, input[i]);
    return total;
}
template <int LENGTH, typename T, typename Op> CUB_INLINE T ThreadScanInclusive(const T (&input)[LENGTH], T (&output)[LENGTH], Op op) {
    return ThreadScanInclusive(input, output, op, input[0], false);
}
// If `apply` is false, the first output is the prefix's place and undefined.
template <int LENGTH, typename T, typename Op>
CUB_INLINE T ThreadScanExclusive(const T (&input)[LENGTH], T (&output)[LENGTH], Op op, T prefix, bool apply = true) {
    // The output may be the input.
    T total = apply ? __cuda_apply(op, prefix, input[0]) : input[0];
    output[0] = prefix;
    for (int i = 1; i < LENGTH; i++) {
        const T next = __cuda_apply(op, total, input[i]);
        output[i] = total;
        total = next;
    }
    return total;
}
} // namespace internal
using internal::ThreadReduce;
using internal::ThreadScanExclusive;
using internal::ThreadScanInclusive;

// The storage of a block's primitive without storage of its own: one for each type of primitive.
template <typename Primitive> CUB_INLINE typename Primitive::TempStorage &__cuda_private_storage() {
    static __shared__ typename Primitive::TempStorage storage;
    return storage;
}
} // namespace cub
#include "../ferrocm_letters_end.h"
