// Thrust's <thrust/transform_reduce.h> for AMD targets: all of it is in <thrust/reduce.h>.
#pragma once
#include "reduce.h"
