// Shared by Thrust's headers for AMD targets: policies, device pointers, and starting work.
//
// An algorithm runs on the device if it gets a device policy or, without a policy, if one of its iterators is a device iterator; else
// on the host. It is done when the call returns, except for algorithms on the device that only write, with par_nosync.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../../cuda_runtime.h"
#include <cstddef>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define THRUST_VERSION 200800
#define __CUDA_THRUST_INLINE __host__ __device__ __attribute__((always_inline)) inline

namespace thrust {
class system_error : public std::runtime_error {
    hipError_t error;

  public:
    explicit system_error(hipError_t error) : std::runtime_error(std::string("thrust: ") + (hipGetErrorString)(error)), error(error) {}
    hipError_t code() const { return error; }
};

struct host_policy {};
struct seq_policy {};
struct device_policy {
    hipStream_t stream = nullptr;
    bool wait = true;
    __host__ __device__ constexpr device_policy(hipStream_t stream = nullptr, bool wait = true) : stream(stream), wait(wait) {}
    __host__ device_policy on(hipStream_t other) const { return device_policy(other, wait); }
    template <typename Allocator> __host__ device_policy operator()(const Allocator &) const { return *this; }
    template <typename... A> __host__ device_policy after(const A &...) const { return *this; }
};
static constexpr host_policy host;
static constexpr seq_policy seq;
static constexpr device_policy device;
namespace cuda {
static constexpr device_policy par;
static constexpr device_policy par_nosync(nullptr, false);
} // namespace cuda
namespace cuda_cub {
using thrust::cuda::par;
using thrust::cuda::par_nosync;
} // namespace cuda_cub
namespace omp {
static constexpr host_policy par;
} // namespace omp
namespace cpp {
static constexpr host_policy par;
} // namespace cpp
typedef host_policy host_execution_policy;
typedef device_policy device_execution_policy;

namespace __ferrocm {
template <typename P> struct is_policy { static constexpr bool value = false; };
template <> struct is_policy<host_policy> { static constexpr bool value = true; };
template <> struct is_policy<seq_policy> { static constexpr bool value = true; };
template <> struct is_policy<device_policy> { static constexpr bool value = true; };
template <typename P> using if_policy = typename std::enable_if<is_policy<P>::value, int>::type;
template <typename P> using if_no_policy = typename std::enable_if<!is_policy<P>::value, int>::type;
template <typename P> struct on_device { static constexpr bool value = std::is_same<P, device_policy>::value; };

static inline void check(hipError_t error) {
    if (error != hipSuccess)
        throw system_error(error);
}
} // namespace __ferrocm

template <typename T> class device_ptr;

// A value on the device that the host can read and write like its own.
template <typename T> class device_reference {
    T *at;
    typedef typename std::remove_cv<T>::type V;

  public:
    typedef V value_type;
    typedef device_ptr<T> pointer;
    __host__ __device__ explicit device_reference(T *at) : at(at) {}
    device_reference(const device_reference &) = default;
    __host__ __device__ operator V() const {
#if defined(__HIP_DEVICE_COMPILE__)
        return *at;
#else
        alignas(V) char bytes[sizeof(V)];
        __ferrocm::check((hipMemcpy)(bytes, const_cast<V *>(at), sizeof(V), hipMemcpyDeviceToHost));
        return *reinterpret_cast<V *>(bytes);
#endif
    }
    __host__ __device__ const device_reference &operator=(const V &value) const {
#if defined(__HIP_DEVICE_COMPILE__)
        *const_cast<V *>(at) = value;
#else
        __ferrocm::check((hipMemcpy)(const_cast<V *>(at), &value, sizeof(V), hipMemcpyHostToDevice));
#endif
        return *this;
    }
    __host__ __device__ const device_reference &operator=(const device_reference &other) const { return *this = static_cast<V>(other); }
    __host__ __device__ const device_reference &operator+=(const V &value) const { return *this = static_cast<V>(static_cast<V>(*this) + value); }
    __host__ __device__ const device_reference &operator-=(const V &value) const { return *this = static_cast<V>(static_cast<V>(*this) - value); }
    __host__ __device__ const device_reference &operator*=(const V &value) const { return *this = static_cast<V>(static_cast<V>(*this) * value); }
    __host__ __device__ const device_reference &operator++() const { return *this += V(1); }
    __host__ __device__ const device_reference &operator--() const { return *this -= V(1); }
    __host__ __device__ device_ptr<T> operator&() const { return device_ptr<T>(at); }
};

template <typename T> class device_ptr {
    T *at;

  public:
    typedef T element_type;
    typedef typename std::remove_cv<T>::type value_type;
    typedef device_reference<T> reference;
    typedef device_ptr pointer;
    typedef T *raw_pointer;
    typedef ptrdiff_t difference_type;
    typedef std::random_access_iterator_tag iterator_category;
    __host__ __device__ constexpr device_ptr() : at(nullptr) {}
    __host__ __device__ constexpr device_ptr(std::nullptr_t) : at(nullptr) {}
    template <typename U, typename std::enable_if<std::is_convertible<U *, T *>::value, int>::type = 0>
    __host__ __device__ constexpr explicit device_ptr(U *at) : at(at) {}
    template <typename U, typename std::enable_if<std::is_convertible<U *, T *>::value, int>::type = 0>
    __host__ __device__ constexpr device_ptr(const device_ptr<U> &other) : at(other.get()) {}
    __host__ __device__ constexpr T *get() const { return at; }
    __host__ __device__ explicit operator bool() const { return at != nullptr; }
    __host__ __device__ reference operator*() const { return reference(at); }
    __host__ __device__ reference operator[](difference_type i) const { return reference(at + i); }
    __host__ __device__ device_ptr &operator+=(difference_type n) { at += n; return *this; }
    __host__ __device__ device_ptr &operator-=(difference_type n) { at -= n; return *this; }
    __host__ __device__ device_ptr &operator++() { ++at; return *this; }
    __host__ __device__ device_ptr &operator--() { --at; return *this; }
    __host__ __device__ device_ptr operator++(int) { return device_ptr(at++); }
    __host__ __device__ device_ptr operator--(int) { return device_ptr(at--); }
    __host__ __device__ device_ptr operator+(difference_type n) const { return device_ptr(at + n); }
    __host__ __device__ device_ptr operator-(difference_type n) const { return device_ptr(at - n); }
    friend __host__ __device__ device_ptr operator+(difference_type n, const device_ptr &p) { return p + n; }
};
#define __CUDA_THRUST_COMPARE(OP)                                                                                               \
    template <typename T, typename U> __host__ __device__ inline bool operator OP(const device_ptr<T> &a, const device_ptr<U> &b) { \
        return a.get() OP b.get();                                                                                              \
    }
__CUDA_THRUST_COMPARE(==)
__CUDA_THRUST_COMPARE(!=)
__CUDA_THRUST_COMPARE(<)
__CUDA_THRUST_COMPARE(<=)
__CUDA_THRUST_COMPARE(>)
__CUDA_THRUST_COMPARE(>=)
#undef __CUDA_THRUST_COMPARE
template <typename T, typename U> __host__ __device__ inline ptrdiff_t operator-(const device_ptr<T> &a, const device_ptr<U> &b) {
    return a.get() - b.get();
}

template <typename T> __host__ __device__ inline device_ptr<T> device_pointer_cast(T *at) { return device_ptr<T>(at); }
template <typename T> __host__ __device__ inline device_ptr<T> device_pointer_cast(const device_ptr<T> &at) { return at; }
template <typename T> __host__ __device__ inline T *raw_pointer_cast(T *at) { return at; }
template <typename T> __host__ __device__ inline T *raw_pointer_cast(const device_ptr<T> &at) { return at.get(); }
template <typename T> __host__ __device__ inline T &raw_reference_cast(T &value) { return value; }
template <typename T> inline device_ptr<T> device_malloc(size_t count) {
    void *at = nullptr;
    __ferrocm::check((hipMalloc)(&at, (count ? count : 1) * sizeof(T)));
    return device_ptr<T>(static_cast<T *>(at));
}
template <typename T> inline void device_free(device_ptr<T> at) { __ferrocm::check((hipFree)(const_cast<typename std::remove_cv<T>::type *>(at.get()))); }

namespace __ferrocm {
// An iterator in the form that the algorithm's code uses, and whether it is a device iterator.
template <typename I> struct iterator {
    typedef I raw;
    static constexpr bool of_device = false;
    static __host__ __device__ raw get(const I &i) { return i; }
};
template <typename T> struct iterator<device_ptr<T>> {
    typedef T *raw;
    static constexpr bool of_device = true;
    static __host__ __device__ raw get(const device_ptr<T> &i) { return i.get(); }
};
template <typename I> __host__ __device__ inline typename iterator<I>::raw raw(const I &i) { return iterator<I>::get(i); }
template <typename I> using value_of = typename std::remove_cv<typename std::iterator_traits<I>::value_type>::type;

template <bool DEVICE> struct choose { typedef host_policy type; };
template <> struct choose<true> { typedef device_policy type; };
template <typename... I> using policy_for = typename choose<(iterator<I>::of_device || ...)>::type;

static inline void end(const device_policy &policy) {
    check((hipGetLastError)());
    if (policy.wait)
        check((hipStreamSynchronize)(policy.stream));
}
// Device memory that is freed at the end.
template <typename T> struct scratch {
    T *at;
    explicit scratch(size_t count) : at(device_malloc<T>(count).get()) {}
    scratch(const scratch &) = delete;
    ~scratch() { (void)(hipFree)(at); }
};

static constexpr int threads = 256;
template <typename F> __global__ void __launch_bounds__(threads) each(size_t n, F f) {
    for (size_t i = static_cast<size_t>(blockIdx.x) * threads + threadIdx.x; i < n; i += static_cast<size_t>(gridDim.x) * threads)
        f(i);
}
static inline unsigned blocks(size_t n, unsigned most) {
    const size_t count = (n + threads - 1) / threads;
    return static_cast<unsigned>(count < most ? count : most);
}
// f(i) for each i below n, in any order.
template <typename F> inline void launch(const device_policy &policy, size_t n, const F &f) {
    if (n != 0)
        each<F><<<dim3(blocks(n, 65535)), dim3(threads), 0, policy.stream>>>(n, f);
}
template <typename P, typename F> __host__ __device__ inline void loop(const P &, size_t n, F f) {
    for (size_t i = 0; i < n; i++)
        f(i);
}
template <typename P, typename F> inline void run(const P &policy, size_t n, const F &f) {
    if constexpr (on_device<P>::value) {
        launch(policy, n, f);
        end(policy);
    } else {
        loop(policy, n, f);
    }
}
} // namespace __ferrocm

// The three ways to call an algorithm: with a host or device policy, with seq, which kernels may use too, and without a policy.
// ITERATORS are the iterators that decide where it runs.
#define __CUDA_THRUST_SEQ(NAME, TYPES, PARAMETERS, ARGUMENTS)                                                                  \
    template <__FERROCM_THRUST_LIST TYPES>                                                                                     \
    __host__ __device__ inline auto NAME(const seq_policy &policy, __FERROCM_THRUST_LIST PARAMETERS) {                         \
        return __ferrocm::NAME(policy, __FERROCM_THRUST_LIST ARGUMENTS);                                                       \
    }
#define __CUDA_THRUST_POLICY(NAME, TYPES, PARAMETERS, ARGUMENTS)                                                               \
    template <typename Policy, __FERROCM_THRUST_LIST TYPES,                                                                    \
              typename std::enable_if<__ferrocm::is_policy<Policy>::value && !std::is_same<Policy, seq_policy>::value, int>::type = 0> \
    inline auto NAME(const Policy &policy, __FERROCM_THRUST_LIST PARAMETERS) {                                                 \
        return __ferrocm::NAME(policy, __FERROCM_THRUST_LIST ARGUMENTS);                                                       \
    }
#define __CUDA_THRUST_PLAIN(NAME, TYPES, PARAMETERS, ARGUMENTS, ITERATORS, FIRST)                                              \
    template <__FERROCM_THRUST_LIST TYPES, __ferrocm::if_no_policy<FIRST> = 0> inline auto NAME(__FERROCM_THRUST_LIST PARAMETERS) { \
        return __ferrocm::NAME(__ferrocm::policy_for<__FERROCM_THRUST_LIST ITERATORS>(), __FERROCM_THRUST_LIST ARGUMENTS);     \
    }
#define __FERROCM_THRUST_LIST(...) __VA_ARGS__
#define __CUDA_THRUST_ALGORITHM(NAME, TYPES, PARAMETERS, ARGUMENTS, ITERATORS, FIRST) \
    __CUDA_THRUST_SEQ(NAME, TYPES, PARAMETERS, ARGUMENTS)                             \
    __CUDA_THRUST_POLICY(NAME, TYPES, PARAMETERS, ARGUMENTS)                          \
    __CUDA_THRUST_PLAIN(NAME, TYPES, PARAMETERS, ARGUMENTS, ITERATORS, FIRST)
} // namespace thrust
#include "../../ferrocm_letters_end.h"
