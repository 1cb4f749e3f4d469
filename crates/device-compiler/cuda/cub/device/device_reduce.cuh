// CUB's <cub/device/device_reduce.cuh> for AMD targets, and its other functions for whole devices: AMD's hipCUB, which runs on rocPRIM.
#pragma once
#include "../../ferrocm_letters_begin.h"
#include "../util_type.cuh"
#include "../iterator/counting_input_iterator.cuh"
#if defined(__CUDA_HIPCUB__)
#include "../../ferrocm_rocm_begin.h"
#include <hipcub/device/device_adjacent_difference.hpp>
#include <hipcub/device/device_copy.hpp>
#include <hipcub/device/device_for.hpp>
#include <hipcub/device/device_histogram.hpp>
#include <hipcub/device/device_memcpy.hpp>
#include <hipcub/device/device_merge.hpp>
#include <hipcub/device/device_merge_sort.hpp>
#include <hipcub/device/device_partition.hpp>
#include <hipcub/device/device_radix_sort.hpp>
#include <hipcub/device/device_reduce.hpp>
#include <hipcub/device/device_run_length_encode.hpp>
#include <hipcub/device/device_scan.hpp>
#include <hipcub/device/device_segmented_radix_sort.hpp>
#include <hipcub/device/device_segmented_reduce.hpp>
#include <hipcub/device/device_segmented_sort.hpp>
#include <hipcub/device/device_select.hpp>
#include <hipcub/device/device_spmv.hpp>
#include <hipcub/device/device_transform.hpp>
#include <hipcub/util_allocator.hpp>
#include "../../ferrocm_hip_end.h"

namespace cub {
using hipcub::DeviceAdjacentDifference;
using hipcub::DeviceCopy;
using hipcub::DeviceFor;
using hipcub::DeviceHistogram;
using hipcub::DeviceMemcpy;
using hipcub::DeviceMerge;
using hipcub::DeviceMergeSort;
using hipcub::DevicePartition;
using hipcub::DeviceRadixSort;
using hipcub::DeviceReduce;
using hipcub::DeviceRunLengthEncode;
using hipcub::DeviceScan;
using hipcub::DeviceSegmentedRadixSort;
using hipcub::DeviceSegmentedReduce;
using hipcub::DeviceSegmentedSort;
using hipcub::DeviceSelect;
using hipcub::DeviceSpmv;
using hipcub::DeviceTransform;
using hipcub::CachingDeviceAllocator;
} // namespace cub
#elif !defined(__HIPCC_RTC__)
#error "CUB's functions for whole devices need AMD's hipCUB and rocPRIM, which `ferrocm setup` and ROCm's packages install"
#endif
#include "../../ferrocm_letters_end.h"
