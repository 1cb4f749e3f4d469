// Thrust's <thrust/system/cuda/vector.h> for AMD targets: that for HIP of AMD's rocThrust.
#pragma once
#include <thrust/system/hip/vector.h>
