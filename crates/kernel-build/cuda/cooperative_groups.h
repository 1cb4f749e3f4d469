// CUDA's <cooperative_groups.h> for AMD targets: HIP's. A tile of up to 32 threads is a part of a warp; coalesced_threads() are those
// of a whole wave, which may have 64.
#pragma once
#include "ferrocm_letters_begin.h"
#include "cuda_runtime.h"
#include "ferrocm_hip_begin.h"
#include <hip/hip_cooperative_groups.h>
#include "ferrocm_hip_end.h"
#include "ferrocm_letters_end.h"
