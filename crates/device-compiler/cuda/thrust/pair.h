// Thrust's <thrust/pair.h> for AMD targets: std's.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/pair.h>)
#include_next <thrust/pair.h>
#else
#include "detail/ferrocm.h"

namespace thrust {
using std::make_pair;
using std::pair;
} // namespace thrust
#endif
