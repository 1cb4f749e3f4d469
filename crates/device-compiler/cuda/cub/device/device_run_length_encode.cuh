// CUB's <cub/device/device_run_length_encode.cuh> for AMD targets: all of it is in <cub/device/device_reduce.cuh>.
#pragma once
#include "device_reduce.cuh"
