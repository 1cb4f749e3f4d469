// Thrust's <thrust/pair.h> for AMD targets: std's.
#pragma once
#include "detail/ferrocm.h"

namespace thrust {
using std::make_pair;
using std::pair;
} // namespace thrust
