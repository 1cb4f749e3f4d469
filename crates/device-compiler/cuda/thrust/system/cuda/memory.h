// Thrust's <thrust/system/cuda/memory.h> for AMD targets: that for HIP of AMD's rocThrust.
#pragma once
#include <thrust/system/hip/memory.h>
