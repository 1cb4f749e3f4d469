// Thrust's <thrust/system/cuda/future.h> for AMD targets: that for HIP of AMD's rocThrust.
#pragma once
#include <thrust/system/hip/future.h>
