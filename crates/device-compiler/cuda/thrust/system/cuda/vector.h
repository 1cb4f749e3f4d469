// Thrust's <thrust/system/cuda/vector.h> for AMD targets: that for HIP of AMD's rocThrust, else <thrust/device_vector.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include(<thrust/system/hip/vector.h>)
#include "../../../ferrocm_letters_begin.h"
#include <thrust/system/hip/vector.h>
#include "../../../ferrocm_letters_end.h"
#else
#include "../../device_vector.h"
#endif
