// Thrust's <thrust/uninitialized_fill.h> for AMD targets: all of it is in <thrust/fill.h>.
#pragma once
#include "fill.h"
