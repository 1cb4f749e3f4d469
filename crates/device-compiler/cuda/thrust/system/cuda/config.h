// Thrust's <thrust/system/cuda/config.h> for AMD targets: that for HIP of AMD's rocThrust, else <thrust/detail/ferrocm.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include(<thrust/system/hip/config.h>)
#include "../../../ferrocm_letters_begin.h"
#include <thrust/system/hip/config.h>
#include "../../../ferrocm_letters_end.h"
#else
#include "../../detail/ferrocm.h"
#endif
