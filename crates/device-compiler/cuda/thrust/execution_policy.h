// Thrust's <thrust/execution_policy.h> for AMD targets: all of it is in <thrust/detail/ferrocm.h>.
#pragma once
#include "detail/ferrocm.h"
