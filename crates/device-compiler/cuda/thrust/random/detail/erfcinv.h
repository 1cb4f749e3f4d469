// In place of rocThrust's <thrust/random/detail/erfcinv.h>: CUDA's function of this name is there without an include.
#pragma once
#include "../../../cuda_runtime.h"
