// Thrust's <thrust/system_error.h> for AMD targets: all of it is in <thrust/detail/ferrocm.h>.
#pragma once
#include "detail/ferrocm.h"
