// CUB's <cub/cub.cuh> for AMD targets: all parts; those for whole devices if AMD's hipCUB is there.
#pragma once
#include "block/block_adjacent_difference.cuh"
#include "block/block_discontinuity.cuh"
#include "block/block_exchange.cuh"
#include "block/block_histogram.cuh"
#include "block/block_load.cuh"
#include "block/block_merge_sort.cuh"
#include "block/block_radix_sort.cuh"
#include "block/block_reduce.cuh"
#include "block/block_run_length_decode.cuh"
#include "block/block_scan.cuh"
#include "block/block_shuffle.cuh"
#include "block/block_store.cuh"
// A kernel that is compiled at run time does not call them.
#if !defined(__HIPCC_RTC__) && __has_include(<hipcub/util_type.hpp>)
#include "device/device_reduce.cuh"
#endif
#include "iterator/counting_input_iterator.cuh"
#include "thread/thread_search.cuh"
#include "thread/thread_sort.cuh"
#include "util_debug.cuh"
#include "util_type.cuh"
#include "warp/warp_exchange.cuh"
#include "warp/warp_load.cuh"
#include "warp/warp_merge_sort.cuh"
#include "warp/warp_reduce.cuh"
#include "warp/warp_scan.cuh"
#include "warp/warp_store.cuh"
