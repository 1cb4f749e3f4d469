// NVTX's <nvToolsExtCudaRt.h> for AMD targets: all of it is in <nvtx3/nvToolsExtCudaRt.h>.
#pragma once
#include "nvtx3/nvToolsExtCudaRt.h"
