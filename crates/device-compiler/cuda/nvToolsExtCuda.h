// NVTX's <nvToolsExtCuda.h> for AMD targets: all of it is in <nvtx3/nvToolsExtCuda.h>.
#pragma once
#include "nvtx3/nvToolsExtCuda.h"
