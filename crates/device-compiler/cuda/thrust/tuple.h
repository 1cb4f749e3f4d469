// Thrust's <thrust/tuple.h> for AMD targets: std's.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/tuple.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/tuple.h>
#include "../ferrocm_letters_end.h"
#else
#include "detail/ferrocm.h"

namespace thrust {
using std::get;
using std::make_tuple;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
} // namespace thrust
#endif
