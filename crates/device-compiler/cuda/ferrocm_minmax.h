// CUDA's min and max, in host and device code. They compare integers in the type that C's conversions give to both: min(-1, 5u) is 5.
// clang's headers have some of these, and templates that compare in double: for every pair of types, there is an exact match here.
#pragma once
#include "ferrocm_letters_begin.h"
#define __CUDA_MINMAX_EITHER static __host__ __device__ __attribute__((always_inline, unused)) inline constexpr
#define __CUDA_MINMAX(A, B)                                                                                                   \
    __CUDA_MINMAX_EITHER decltype(A() + B()) min(A a, B b) {                                                                  \
        return static_cast<decltype(A() + B())>(a) < static_cast<decltype(A() + B())>(b) ? a : b;                             \
    }                                                                                                                         \
    __CUDA_MINMAX_EITHER decltype(A() + B()) max(A a, B b) {                                                                  \
        return static_cast<decltype(A() + B())>(a) < static_cast<decltype(A() + B())>(b) ? b : a;                             \
    }
#define __CUDA_MINMAX_PAIR(A, B) \
    __CUDA_MINMAX(A, B)          \
    __CUDA_MINMAX(B, A)
typedef signed char __cuda_schar;
typedef unsigned char __cuda_uchar;
typedef unsigned short __cuda_ushort;
typedef unsigned long __cuda_ulong;
typedef long long __cuda_llong;
typedef unsigned long long __cuda_ullong;
__CUDA_MINMAX(bool, bool)
__CUDA_MINMAX_PAIR(bool, char)
__CUDA_MINMAX_PAIR(bool, __cuda_schar)
__CUDA_MINMAX_PAIR(bool, __cuda_uchar)
__CUDA_MINMAX_PAIR(bool, short)
__CUDA_MINMAX_PAIR(bool, __cuda_ushort)
__CUDA_MINMAX_PAIR(bool, int)
__CUDA_MINMAX_PAIR(bool, unsigned)
__CUDA_MINMAX_PAIR(bool, long)
__CUDA_MINMAX_PAIR(bool, __cuda_ulong)
__CUDA_MINMAX_PAIR(bool, __cuda_llong)
__CUDA_MINMAX_PAIR(bool, __cuda_ullong)
__CUDA_MINMAX(char, char)
__CUDA_MINMAX_PAIR(char, __cuda_schar)
__CUDA_MINMAX_PAIR(char, __cuda_uchar)
__CUDA_MINMAX_PAIR(char, short)
__CUDA_MINMAX_PAIR(char, __cuda_ushort)
__CUDA_MINMAX_PAIR(char, int)
__CUDA_MINMAX_PAIR(char, unsigned)
__CUDA_MINMAX_PAIR(char, long)
__CUDA_MINMAX_PAIR(char, __cuda_ulong)
__CUDA_MINMAX_PAIR(char, __cuda_llong)
__CUDA_MINMAX_PAIR(char, __cuda_ullong)
__CUDA_MINMAX(__cuda_schar, __cuda_schar)
__CUDA_MINMAX_PAIR(__cuda_schar, __cuda_uchar)
__CUDA_MINMAX_PAIR(__cuda_schar, short)
__CUDA_MINMAX_PAIR(__cuda_schar, __cuda_ushort)
__CUDA_MINMAX_PAIR(__cuda_schar, int)
__CUDA_MINMAX_PAIR(__cuda_schar, unsigned)
__CUDA_MINMAX_PAIR(__cuda_schar, long)
__CUDA_MINMAX_PAIR(__cuda_schar, __cuda_ulong)
__CUDA_MINMAX_PAIR(__cuda_schar, __cuda_llong)
__CUDA_MINMAX_PAIR(__cuda_schar, __cuda_ullong)
__CUDA_MINMAX(__cuda_uchar, __cuda_uchar)
__CUDA_MINMAX_PAIR(__cuda_uchar, short)
__CUDA_MINMAX_PAIR(__cuda_uchar, __cuda_ushort)
__CUDA_MINMAX_PAIR(__cuda_uchar, int)
__CUDA_MINMAX_PAIR(__cuda_uchar, unsigned)
__CUDA_MINMAX_PAIR(__cuda_uchar, long)
__CUDA_MINMAX_PAIR(__cuda_uchar, __cuda_ulong)
__CUDA_MINMAX_PAIR(__cuda_uchar, __cuda_llong)
__CUDA_MINMAX_PAIR(__cuda_uchar, __cuda_ullong)
__CUDA_MINMAX(short, short)
__CUDA_MINMAX_PAIR(short, __cuda_ushort)
__CUDA_MINMAX_PAIR(short, int)
__CUDA_MINMAX_PAIR(short, unsigned)
__CUDA_MINMAX_PAIR(short, long)
__CUDA_MINMAX_PAIR(short, __cuda_ulong)
__CUDA_MINMAX_PAIR(short, __cuda_llong)
__CUDA_MINMAX_PAIR(short, __cuda_ullong)
__CUDA_MINMAX(__cuda_ushort, __cuda_ushort)
__CUDA_MINMAX_PAIR(__cuda_ushort, int)
__CUDA_MINMAX_PAIR(__cuda_ushort, unsigned)
__CUDA_MINMAX_PAIR(__cuda_ushort, long)
__CUDA_MINMAX_PAIR(__cuda_ushort, __cuda_ulong)
__CUDA_MINMAX_PAIR(__cuda_ushort, __cuda_llong)
__CUDA_MINMAX_PAIR(__cuda_ushort, __cuda_ullong)
__CUDA_MINMAX_PAIR(int, unsigned)
__CUDA_MINMAX_PAIR(int, long)
__CUDA_MINMAX_PAIR(int, __cuda_ulong)
__CUDA_MINMAX_PAIR(int, __cuda_llong)
__CUDA_MINMAX_PAIR(int, __cuda_ullong)
__CUDA_MINMAX(unsigned, unsigned)
__CUDA_MINMAX_PAIR(unsigned, long)
__CUDA_MINMAX_PAIR(unsigned, __cuda_ulong)
__CUDA_MINMAX_PAIR(unsigned, __cuda_llong)
__CUDA_MINMAX_PAIR(unsigned, __cuda_ullong)
__CUDA_MINMAX(long, long)
__CUDA_MINMAX_PAIR(long, __cuda_ulong)
__CUDA_MINMAX_PAIR(long, __cuda_llong)
__CUDA_MINMAX_PAIR(long, __cuda_ullong)
__CUDA_MINMAX(__cuda_ulong, __cuda_ulong)
__CUDA_MINMAX_PAIR(__cuda_ulong, __cuda_llong)
__CUDA_MINMAX_PAIR(__cuda_ulong, __cuda_ullong)
__CUDA_MINMAX(__cuda_llong, __cuda_llong)
__CUDA_MINMAX_PAIR(__cuda_llong, __cuda_ullong)
__CUDA_MINMAX(__cuda_ullong, __cuda_ullong)
#undef __CUDA_MINMAX_PAIR
#undef __CUDA_MINMAX
// Floats: a NaN counts for nothing.
#if !defined(__HIPCC_RTC__)
static __host__ __attribute__((always_inline, unused)) inline float min(float a, float b) { return __builtin_fminf(a, b); }
static __host__ __attribute__((always_inline, unused)) inline float max(float a, float b) { return __builtin_fmaxf(a, b); }
static __host__ __attribute__((always_inline, unused)) inline double min(double a, double b) { return __builtin_fmin(a, b); }
static __host__ __attribute__((always_inline, unused)) inline double max(double a, double b) { return __builtin_fmax(a, b); }
#endif
__CUDA_MINMAX_EITHER double min(float a, double b) { return __builtin_fmin(static_cast<double>(a), b); }
__CUDA_MINMAX_EITHER double max(float a, double b) { return __builtin_fmax(static_cast<double>(a), b); }
__CUDA_MINMAX_EITHER double min(double a, float b) { return __builtin_fmin(a, static_cast<double>(b)); }
__CUDA_MINMAX_EITHER double max(double a, float b) { return __builtin_fmax(a, static_cast<double>(b)); }

// The functions of one type each. clang has some for the device.
#define __CUDA_MINMAX_NAMED(END, T)                                               \
    __CUDA_MINMAX_EITHER T END##min(T a, T b) { return a < b ? a : b; }            \
    __CUDA_MINMAX_EITHER T END##max(T a, T b) { return a < b ? b : a; }
__CUDA_MINMAX_NAMED(u, unsigned)
__CUDA_MINMAX_NAMED(ll, __cuda_llong)
__CUDA_MINMAX_NAMED(ull, __cuda_ullong)
#undef __CUDA_MINMAX_NAMED
#undef __CUDA_MINMAX_EITHER
#include "ferrocm_letters_end.h"
