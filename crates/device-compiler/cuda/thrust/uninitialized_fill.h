// Thrust's <thrust/uninitialized_fill.h> for AMD targets: all of it is in <thrust/fill.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/uninitialized_fill.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/uninitialized_fill.h>
#include "../ferrocm_letters_end.h"
#else
#include "fill.h"
#endif
