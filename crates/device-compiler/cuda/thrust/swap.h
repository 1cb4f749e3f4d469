// Thrust's <thrust/swap.h> for AMD targets: an exchange of two values.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/swap.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/swap.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"

namespace thrust {
template <typename T> __CUDA_THRUST_INLINE void swap(T &a, T &b) {
    T old = static_cast<T &&>(a);
    a = static_cast<T &&>(b);
    b = static_cast<T &&>(old);
}
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
