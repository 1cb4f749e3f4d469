#ifndef AGAIN_CUH
#pragma once
#define AGAIN_CUH
#include <hip/hip_runtime.h>
static int counter;
#include "hipsolver/hipsolver.h"
#
#if CUDART_VERSION >= 11000
#
#endif
#endif
