// Thrust's <thrust/system/cuda/memory.h> for AMD targets: that for HIP of AMD's rocThrust, else <thrust/memory.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include(<thrust/system/hip/memory.h>)
#include "../../../ferrocm_letters_begin.h"
#include <thrust/system/hip/memory.h>
#include "../../../ferrocm_letters_end.h"
#else
#include "../../memory.h"
#endif
