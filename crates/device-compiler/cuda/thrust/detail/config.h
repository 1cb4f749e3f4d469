// Read first by each header of AMD's rocThrust, which has Thrust's functions for whole devices and runs on rocPRIM: decides for HIP, and
// gives its namespaces CUDA's names.
#pragma once
#if !defined(__HIPCC_RTC__) && __has_include_next(<thrust/detail/config.h>)
#include "../../ferrocm_letters_begin.h"
#include "../../cuda_runtime.h"
#include "../../cuda_fp16.h"
#include "../../cuda_bf16.h"
#include "../../ferrocm_wrapped.h"
#include "../../ferrocm_rocm_begin.h"
#include_next <thrust/detail/config.h>
#include <rocprim/rocprim.hpp>
#include "../../ferrocm_hip_end.h"
#include "../../ferrocm_letters_end.h"

THRUST_NAMESPACE_BEGIN
namespace hip_rocprim {}
namespace hip {}
namespace system {
namespace hip {}
namespace cuda = hip;
} // namespace system
namespace cuda = hip;
namespace cuda_cub = hip_rocprim;
THRUST_NAMESPACE_END
#endif
