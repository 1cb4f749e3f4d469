// Thrust's <thrust/system/cuda/pointer.h> for AMD targets: that for HIP of AMD's rocThrust.
#pragma once
#include <thrust/system/hip/pointer.h>
