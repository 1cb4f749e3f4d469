// Thrust's <thrust/system_error.h> for AMD targets: all of it is in <thrust/detail/ferrocm.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/system_error.h>)
#include "../ferrocm_letters_begin.h"
#include_next <thrust/system_error.h>
#include "../ferrocm_letters_end.h"
#else
#include "detail/ferrocm.h"
#endif
