// Thrust's <thrust/transform_reduce.h> for AMD targets: all of it is in <thrust/reduce.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/transform_reduce.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/transform_reduce.h>
#include "../ferrocm_letters_end.h"
#else
#include "reduce.h"
#endif
