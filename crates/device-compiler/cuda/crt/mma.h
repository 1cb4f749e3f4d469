// CUDA's <crt/mma.h> for AMD targets: all of it is in <mma.h>.
#pragma once
#include "../mma.h"
