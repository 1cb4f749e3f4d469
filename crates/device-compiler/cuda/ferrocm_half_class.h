// One of CUDA's 16-bit types and its pair, as __CUDA_T and __CUDA_T2; their bits are __CUDA_T_RAW and __CUDA_T2_RAW, and the arithmetic is that of
// __CUDA_T_FORMAT. No guard: cuda_fp16.h and cuda_bf16.h include it for their types, with __CUDA_T_OTHER for the other type, which converts
// to this one, and __CUDA_T_CONVERSIONS unless a program asks for no conversions.
struct __CUDA_T;
namespace __cuda_half {
template <> struct format<__CUDA_T> : __CUDA_T_FORMAT {};
} // namespace __cuda_half

struct __attribute__((aligned(2))) __CUDA_T {
  protected:
    unsigned short __x;

  public:
    __CUDA_T() = default;
    __host__ __device__ constexpr __CUDA_T(const __CUDA_T_RAW &raw) : __x(raw.x) {}
    template <typename R> __host__ __device__ typename __cuda_half::only<R, __CUDA_T_RAW, __CUDA_T &>::type operator=(const R &raw) {
        __x = raw.x;
        return *this;
    }
    template <typename R>
    __host__ __device__ typename __cuda_half::only<R, __CUDA_T_RAW, volatile __CUDA_T &>::type operator=(const R &raw) volatile {
        __x = raw.x;
        return *this;
    }
    template <typename R>
    __host__ __device__ typename __cuda_half::only<R, __CUDA_T_RAW, volatile __CUDA_T &>::type operator=(const volatile R &raw) volatile {
        __x = raw.x;
        return *this;
    }
    __host__ __device__ operator __CUDA_T_RAW() const {
        __CUDA_T_RAW raw;
        raw.x = __x;
        return raw;
    }
    __host__ __device__ operator __CUDA_T_RAW() const volatile {
        __CUDA_T_RAW raw;
        raw.x = __x;
        return raw;
    }
    __host__ __device__ explicit __CUDA_T(const __CUDA_T_OTHER &from);
    // The compiler's own type.
    __host__ __device__ __CUDA_T(__CUDA_T_NATIVE from) : __x(__builtin_bit_cast(unsigned short, from)) {}
    __host__ __device__ explicit operator __CUDA_T_NATIVE() const { return __builtin_bit_cast(__CUDA_T_NATIVE, __x); }
#if defined(__CUDA_T_CONVERSIONS)
    __host__ __device__ __CUDA_T(float from) : __x(__CUDA_T_FORMAT::from_float(from)) {}
    __host__ __device__ __CUDA_T(double from) : __x(__CUDA_T_FORMAT::from_double(from)) {}
#define __CUDA_OF(TYPE) \
    __host__ __device__ __CUDA_T(TYPE from) : __x(__CUDA_T_FORMAT::from_integer(from)) {}
    __CUDA_OF(short)
    __CUDA_OF(unsigned short)
    __CUDA_OF(int)
    __CUDA_OF(unsigned)
    __CUDA_OF(long)
    __CUDA_OF(unsigned long)
    __CUDA_OF(long long)
    __CUDA_OF(unsigned long long)
#undef __CUDA_OF
    __host__ __device__ operator float() const { return __CUDA_T_FORMAT::to_float(__x); }
    __host__ __device__ constexpr operator bool() const { return (__x & 0x7fff) != 0; }
#define __CUDA_TO(TYPE) \
    __host__ __device__ operator TYPE() const { return __cuda_convert::integer<TYPE, __cuda_convert::rz>(__CUDA_T_FORMAT::to_float(__x)); }
    __CUDA_TO(char)
    __CUDA_TO(signed char)
    __CUDA_TO(unsigned char)
    __CUDA_TO(short)
    __CUDA_TO(unsigned short)
    __CUDA_TO(int)
    __CUDA_TO(unsigned)
    __CUDA_TO(long)
    __CUDA_TO(unsigned long)
    __CUDA_TO(long long)
    __CUDA_TO(unsigned long long)
#undef __CUDA_TO
#endif
};

struct __attribute__((aligned(4))) __CUDA_T2 {
    __CUDA_T x;
    __CUDA_T y;
    __CUDA_T2() = default;
    __host__ __device__ constexpr __CUDA_T2(const __CUDA_T &low, const __CUDA_T &high) : x(low), y(high) {}
    __host__ __device__ __CUDA_T2(const __CUDA_T2_RAW &raw)
        : x(__cuda_half::of_bits<__CUDA_T>(raw.x)), y(__cuda_half::of_bits<__CUDA_T>(raw.y)) {}
    template <typename R> __host__ __device__ typename __cuda_half::only<R, __CUDA_T2_RAW, __CUDA_T2 &>::type operator=(const R &raw) {
        return *this = __CUDA_T2(raw);
    }
    __host__ __device__ operator __CUDA_T2_RAW() const {
        __CUDA_T2_RAW raw;
        raw.x = __cuda_half::bits_of(x);
        raw.y = __cuda_half::bits_of(y);
        return raw;
    }
#if defined(__CUDA_T2_FLOAT2)
    // HIP's fp8 needs it.
    __host__ __device__ operator __CUDA_T2_FLOAT2() const { return __CUDA_T2_FLOAT2(make_float2(__cuda_half::wide(x), __cuda_half::wide(y))); }
#endif
};
