// Thrust's <thrust/device_reference.h> for AMD targets: all of it is in <thrust/detail/ferrocm.h>.
#pragma once
#include "detail/ferrocm.h"
