// CUB's <cub/thread/thread_store.cuh> for AMD targets: all of it is in <cub/util_type.cuh>.
#pragma once
#include "../util_type.cuh"
