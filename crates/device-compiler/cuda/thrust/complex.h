// Thrust's <thrust/complex.h> for AMD targets: std's complex numbers, which the compiler's own <complex> enables on the device.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/complex.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/complex.h>
#include "../ferrocm_letters_end.h"
#else
#include "../ferrocm_letters_begin.h"
#include "detail/ferrocm.h"
#include <complex>

namespace thrust {
template <typename T> using complex = std::complex<T>;
using std::abs;
using std::arg;
using std::conj;
using std::exp;
using std::log;
using std::norm;
using std::polar;
using std::pow;
using std::sqrt;
} // namespace thrust
#include "../ferrocm_letters_end.h"
#endif
