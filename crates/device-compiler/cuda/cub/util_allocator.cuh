// CUB's <cub/util_allocator.cuh> for AMD targets: all of it is in <cub/device/device_reduce.cuh>.
#pragma once
#include "device/device_reduce.cuh"
