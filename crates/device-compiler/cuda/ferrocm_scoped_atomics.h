// CUDA 12.8's built-in atomics with an order and a scope: __nv_atomic_load_n(at, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE).
#pragma once
#include "ferrocm_letters_begin.h"

#define __NV_ATOMIC_RELAXED __ATOMIC_RELAXED
#define __NV_ATOMIC_CONSUME __ATOMIC_CONSUME
#define __NV_ATOMIC_ACQUIRE __ATOMIC_ACQUIRE
#define __NV_ATOMIC_RELEASE __ATOMIC_RELEASE
#define __NV_ATOMIC_ACQ_REL __ATOMIC_ACQ_REL
#define __NV_ATOMIC_SEQ_CST __ATOMIC_SEQ_CST
#define __NV_THREAD_SCOPE_THREAD 0
#define __NV_THREAD_SCOPE_BLOCK 1
#define __NV_THREAD_SCOPE_CLUSTER 2
#define __NV_THREAD_SCOPE_DEVICE 3
#define __NV_THREAD_SCOPE_SYSTEM 4

namespace __cuda_scoped {
template <int Bytes> struct word;
template <> struct word<1> { typedef unsigned char type; };
template <> struct word<2> { typedef unsigned short type; };
template <> struct word<4> { typedef unsigned type; };
template <> struct word<8> { typedef unsigned long long type; };
// A value's bits as a number, which atomics of all types take.
template <typename T> using bits = typename word<sizeof(T)>::type;

// The compiler's atomics need a constant order and scope. A cluster is a block.
#define __CUDA_SCOPED_ORDER(CALL, SCOPE)                    \
    switch (order) {                                        \
    case __ATOMIC_RELAXED: CALL(__ATOMIC_RELAXED, SCOPE);   \
    case __ATOMIC_CONSUME:                                  \
    case __ATOMIC_ACQUIRE: CALL(__ATOMIC_ACQUIRE, SCOPE);   \
    case __ATOMIC_RELEASE: CALL(__ATOMIC_RELEASE, SCOPE);   \
    case __ATOMIC_ACQ_REL: CALL(__ATOMIC_ACQ_REL, SCOPE);   \
    default: CALL(__ATOMIC_SEQ_CST, SCOPE);                 \
    }
#define __CUDA_SCOPED(CALL)                                                                \
    switch (scope) {                                                                       \
    case __NV_THREAD_SCOPE_THREAD: __CUDA_SCOPED_ORDER(CALL, __HIP_MEMORY_SCOPE_SINGLETHREAD) \
    case __NV_THREAD_SCOPE_BLOCK:                                                          \
    case __NV_THREAD_SCOPE_CLUSTER: __CUDA_SCOPED_ORDER(CALL, __HIP_MEMORY_SCOPE_WORKGROUP) \
    case __NV_THREAD_SCOPE_DEVICE: __CUDA_SCOPED_ORDER(CALL, __HIP_MEMORY_SCOPE_AGENT)     \
    default: __CUDA_SCOPED_ORDER(CALL, __HIP_MEMORY_SCOPE_SYSTEM)                          \
    }
#define __CUDA_SCOPED_INLINE static __device__ __attribute__((always_inline, unused)) inline

// Orders that a load or a store cannot have are its strongest one.
constexpr __device__ int for_load(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ? __ATOMIC_SEQ_CST : order; }
constexpr __device__ int for_store(int order) {
    return order == __ATOMIC_CONSUME || order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL ? __ATOMIC_SEQ_CST : order;
}
constexpr __device__ int on_failure(int order) {
    return order == __ATOMIC_ACQ_REL ? __ATOMIC_ACQUIRE : order == __ATOMIC_RELEASE ? __ATOMIC_RELAXED : order;
}
// One order that is no weaker than those of success and of failure.
constexpr __device__ int both(int success, int failure) {
    return failure == __ATOMIC_SEQ_CST                                    ? __ATOMIC_SEQ_CST
           : failure == __ATOMIC_RELAXED || success == __ATOMIC_SEQ_CST   ? success
           : success == __ATOMIC_RELEASE || success == __ATOMIC_ACQ_REL   ? __ATOMIC_ACQ_REL
                                                                          : __ATOMIC_ACQUIRE;
}

#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_load(at, for_load(ORDER), SCOPE)
template <typename W> __CUDA_SCOPED_INLINE W load(const W *at, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_store(at, value, for_store(ORDER), SCOPE)
template <typename W> __CUDA_SCOPED_INLINE void store(W *at, W value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_compare_exchange_strong(at, expected, value, ORDER, on_failure(ORDER), SCOPE)
template <typename W> __CUDA_SCOPED_INLINE bool compare_exchange(W *at, W *expected, W value, int order, int scope) {
    __CUDA_SCOPED(__CUDA_SCOPED_CALL)
}
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_exchange(at, value, ORDER, SCOPE)
template <typename W> __CUDA_SCOPED_INLINE W exchange(W *at, W value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_fetch_add(at, value, ORDER, SCOPE)
template <typename T> __CUDA_SCOPED_INLINE T fetch_add(T *at, T value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
// Without an overflow of signed numbers.
template <typename T> __CUDA_SCOPED_INLINE T fetch_sub(T *at, T value, int order, int scope) {
    return static_cast<T>(fetch_add(reinterpret_cast<bits<T> *>(at), static_cast<bits<T>>(0 - static_cast<bits<T>>(value)), order, scope));
}
__CUDA_SCOPED_INLINE float fetch_sub(float *at, float value, int order, int scope) { return fetch_add(at, -value, order, scope); }
__CUDA_SCOPED_INLINE double fetch_sub(double *at, double value, int order, int scope) { return fetch_add(at, -value, order, scope); }
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_fetch_and(at, value, ORDER, SCOPE)
template <typename T> __CUDA_SCOPED_INLINE T fetch_and(T *at, T value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_fetch_or(at, value, ORDER, SCOPE)
template <typename T> __CUDA_SCOPED_INLINE T fetch_or(T *at, T value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_fetch_xor(at, value, ORDER, SCOPE)
template <typename T> __CUDA_SCOPED_INLINE T fetch_xor(T *at, T value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_fetch_min(at, value, ORDER, SCOPE)
template <typename T> __CUDA_SCOPED_INLINE T fetch_min(T *at, T value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
#define __CUDA_SCOPED_CALL(ORDER, SCOPE) return __hip_atomic_fetch_max(at, value, ORDER, SCOPE)
template <typename T> __CUDA_SCOPED_INLINE T fetch_max(T *at, T value, int order, int scope) { __CUDA_SCOPED(__CUDA_SCOPED_CALL) }
#undef __CUDA_SCOPED_CALL
__CUDA_SCOPED_INLINE void fence(int order, int scope) {
    if (order == __ATOMIC_RELAXED)
        return;
    switch (scope) {
    case __NV_THREAD_SCOPE_THREAD: return __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "singlethread");
    case __NV_THREAD_SCOPE_BLOCK:
    case __NV_THREAD_SCOPE_CLUSTER: return __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    case __NV_THREAD_SCOPE_DEVICE: return __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    default: return __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
    }
}
// The type of a value that is converted to that of the pointer.
template <typename T> struct same { typedef T type; };
template <typename T> using value = typename same<T>::type;
#undef __CUDA_SCOPED
#undef __CUDA_SCOPED_ORDER
} // namespace __cuda_scoped

#define __CUDA_SCOPED_BITS(at) reinterpret_cast<__cuda_scoped::bits<T> *>(at)
template <typename T> __CUDA_SCOPED_INLINE T __nv_atomic_load_n(const T *at, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    return __cuda_bits<T>(__cuda_scoped::load(reinterpret_cast<const __cuda_scoped::bits<T> *>(at), order, scope));
}
template <typename T> __CUDA_SCOPED_INLINE void __nv_atomic_load(const T *at, T *to, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    *to = __nv_atomic_load_n(at, order, scope);
}
template <typename T>
__CUDA_SCOPED_INLINE void __nv_atomic_store_n(T *at, __cuda_scoped::value<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    __cuda_scoped::store(__CUDA_SCOPED_BITS(at), __cuda_bits<__cuda_scoped::bits<T>>(value), order, scope);
}
template <typename T> __CUDA_SCOPED_INLINE void __nv_atomic_store(T *at, T *from, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    __nv_atomic_store_n(at, *from, order, scope);
}
template <typename T>
__CUDA_SCOPED_INLINE T __nv_atomic_exchange_n(T *at, __cuda_scoped::value<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    return __cuda_bits<T>(__cuda_scoped::exchange(__CUDA_SCOPED_BITS(at), __cuda_bits<__cuda_scoped::bits<T>>(value), order, scope));
}
template <typename T>
__CUDA_SCOPED_INLINE void __nv_atomic_exchange(T *at, T *from, T *to, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    *to = __nv_atomic_exchange_n(at, *from, order, scope);
}
template <typename T>
__CUDA_SCOPED_INLINE bool __nv_atomic_compare_exchange_n(T *at, T *expected, __cuda_scoped::value<T> value, bool, int success, int failure,
                                                         int scope = __NV_THREAD_SCOPE_SYSTEM) {
    __cuda_scoped::bits<T> seen = __cuda_bits<__cuda_scoped::bits<T>>(*expected);
    const bool done = __cuda_scoped::compare_exchange(__CUDA_SCOPED_BITS(at), &seen, __cuda_bits<__cuda_scoped::bits<T>>(value),
                                                      __cuda_scoped::both(success, failure), scope);
    *expected = __cuda_bits<T>(seen);
    return done;
}
template <typename T>
__CUDA_SCOPED_INLINE bool __nv_atomic_compare_exchange(T *at, T *expected, T *from, bool weak, int success, int failure,
                                                       int scope = __NV_THREAD_SCOPE_SYSTEM) {
    return __nv_atomic_compare_exchange_n(at, expected, *from, weak, success, failure, scope);
}
#define __CUDA_SCOPED_OPERATION(NAME)                                                                                              \
    template <typename T>                                                                                                          \
    __CUDA_SCOPED_INLINE T __nv_atomic_fetch_##NAME(T *at, __cuda_scoped::value<T> value, int order,                               \
                                                    int scope = __NV_THREAD_SCOPE_SYSTEM) {                                        \
        return __cuda_scoped::fetch_##NAME(at, value, order, scope);                                                               \
    }                                                                                                                              \
    template <typename T>                                                                                                          \
    __CUDA_SCOPED_INLINE void __nv_atomic_##NAME(T *at, __cuda_scoped::value<T> value, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) { \
        __cuda_scoped::fetch_##NAME(at, value, order, scope);                                                                      \
    }
__CUDA_SCOPED_OPERATION(add)
__CUDA_SCOPED_OPERATION(sub)
__CUDA_SCOPED_OPERATION(and)
__CUDA_SCOPED_OPERATION(or)
__CUDA_SCOPED_OPERATION(xor)
__CUDA_SCOPED_OPERATION(min)
__CUDA_SCOPED_OPERATION(max)
#undef __CUDA_SCOPED_OPERATION
#undef __CUDA_SCOPED_BITS
__CUDA_SCOPED_INLINE void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) { __cuda_scoped::fence(order, scope); }
#undef __CUDA_SCOPED_INLINE

#include "ferrocm_letters_end.h"
