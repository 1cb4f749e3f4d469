// Thrust's <thrust/tuple.h> for AMD targets: std's.
#pragma once
#include "detail/ferrocm.h"

namespace thrust {
using std::get;
using std::make_tuple;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;
} // namespace thrust
