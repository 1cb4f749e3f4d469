// Thrust's <thrust/system/cuda/config.h> for AMD targets: that for HIP of AMD's rocThrust.
#pragma once
#include <thrust/system/hip/config.h>
