// The same as <nvtx3/nvToolsExtCudaRt.h>.
#pragma once
#include "nvtx3/nvToolsExtCudaRt.h"
