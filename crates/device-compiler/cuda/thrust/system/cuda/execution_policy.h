// Thrust's <thrust/system/cuda/execution_policy.h> for AMD targets: that for HIP of AMD's rocThrust, else <thrust/execution_policy.h>.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include(<thrust/system/hip/execution_policy.h>)
#include "../../../ferrocm_letters_begin.h"
#include <thrust/system/hip/execution_policy.h>
#include "../../../ferrocm_letters_end.h"
#else
#include "../../execution_policy.h"
#endif
