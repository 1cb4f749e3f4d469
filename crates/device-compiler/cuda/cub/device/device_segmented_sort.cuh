// CUB's <cub/device/device_segmented_sort.cuh> for AMD targets: all of it is in <cub/device/device_reduce.cuh>.
#pragma once
#include "device_reduce.cuh"
