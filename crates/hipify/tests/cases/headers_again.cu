#ifndef AGAIN_CUH
#pragma once
#define AGAIN_CUH
#include <cuda_runtime.h>
static int counter;
#include "cusolverDn.h"
#include "cusolverSp.h"
#if CUDART_VERSION >= 11000
#include "cusolver_common.h"
#endif
#endif
