// Thrust's <thrust/pair.h> for AMD targets: std's.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/pair.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/pair.h>
#include "../ferrocm_letters_end.h"
#else
#include "detail/ferrocm.h"

namespace thrust {
using std::make_pair;
using std::pair;
} // namespace thrust
#endif
