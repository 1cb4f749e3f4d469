//! Functions of modules: launching them, and what they need.

use std::ffi::{c_int, c_uint, c_void};

use hip_sys::{hipFuncAttribute, hipFuncCache_t, hipFunction_attribute};

use super::{
    CUfunc_cache, CUfunction, CUfunction_attribute, CUlaunchConfig, CUoccupancyB2DSize, CUresult, CUstream,
    functions,
};
use crate::backend::{current, give, hip_call, table};

functions! {
    fn cuLaunchKernel(
        f: CUfunction,
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        hip_call!(
            table()?,
            hipModuleLaunchKernel(
                f.cast(), gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
                hStream.cast(), kernelParams, extra,
            )
        )
    }

    fn cuLaunchCooperativeKernel(
        f: CUfunction,
        gridDimX: c_uint,
        gridDimY: c_uint,
        gridDimZ: c_uint,
        blockDimX: c_uint,
        blockDimY: c_uint,
        blockDimZ: c_uint,
        sharedMemBytes: c_uint,
        hStream: CUstream,
        kernelParams: *mut *mut c_void,
    ) {
        hip_call!(
            table()?,
            hipModuleLaunchCooperativeKernel(
                f.cast(), gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes,
                hStream.cast(), kernelParams,
            )
        )
    }

    fn cuFuncGetAttribute(pi: *mut c_int, attrib: CUfunction_attribute, hfunc: CUfunction) {
        let attribute = match attrib {
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS => hipFunction_attribute::HIP_FUNC_ATTRIBUTE_NUM_REGS,
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_PTX_VERSION
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_BINARY_VERSION
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_CACHE_MODE_CA => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
                hipFunction_attribute::HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT
            }
            // There are no clusters.
            _ => return give(pi, 0),
        };
        hip_call!(table()?, hipFuncGetAttribute(pi, attribute, hfunc.cast()))
    }

    fn cuFuncSetAttribute(hfunc: CUfunction, attrib: CUfunction_attribute, value: c_int) {
        let attribute = match attrib {
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                hipFuncAttribute::hipFuncAttributeMaxDynamicSharedMemorySize
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT => {
                hipFuncAttribute::hipFuncAttributePreferredSharedMemoryCarveout
            }
            CUfunction_attribute::CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH
            | CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        };
        hip_call!(table()?, hipFuncSetAttribute(hfunc.cast::<c_void>(), attribute, value))
    }

    fn cuFuncSetCacheConfig(hfunc: CUfunction, config: CUfunc_cache) {
        hip_call!(table()?, hipFuncSetCacheConfig(hfunc.cast::<c_void>(), hipFuncCache_t(config as c_uint)))
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks: *mut c_int,
        func: CUfunction,
        blockSize: c_int,
        dynamicSMemSize: usize,
    ) {
        hip_call!(
            table()?,
            hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(numBlocks, func.cast(), blockSize, dynamicSMemSize)
        )
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks: *mut c_int,
        func: CUfunction,
        blockSize: c_int,
        dynamicSMemSize: usize,
        flags: c_uint,
    ) {
        hip_call!(
            table()?,
            hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                numBlocks, func.cast(), blockSize, dynamicSMemSize, flags,
            )
        )
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        dynamicSmemSize: *mut usize,
        func: CUfunction,
        numBlocks: c_int,
        blockSize: c_int,
    ) {
        hip_call!(
            table()?,
            hipOccupancyAvailableDynamicSMemPerBlock(
                dynamicSmemSize, func.cast::<c_void>(), numBlocks, blockSize,
            )
        )
    }

    fn cuOccupancyMaxPotentialBlockSize(
        minGridSize: *mut c_int,
        blockSize: *mut c_int,
        func: CUfunction,
        blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
        dynamicSMemSize: usize,
        blockSizeLimit: c_int,
    ) {
        cuOccupancyMaxPotentialBlockSizeWithFlags(
            minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit, 0,
        )
        .result()
        .map_err(|error| error.0)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize: *mut c_int,
        blockSize: *mut c_int,
        func: CUfunction,
        blockSizeToDynamicSMemSize: CUoccupancyB2DSize,
        dynamicSMemSize: usize,
        blockSizeLimit: c_int,
        flags: c_uint,
    ) {
        let (device, table) = current()?;
        let Some(shared) = blockSizeToDynamicSMemSize else {
            return hip_call!(
                table,
                hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
                    minGridSize, blockSize, func.cast(), dynamicSMemSize, blockSizeLimit, flags,
                )
            );
        };
        // HIP does not ask how much memory a block of each size needs, so this tries the sizes: it picks the
        // one with the most threads at once, and of those the largest.
        let attribute = hip_sys::hipDeviceAttribute_t::hipDeviceAttributeMultiprocessorCount;
        let units = device.attribute(attribute).map_err(|error| crate::backend::result_of(&error))?;
        let mut most = 0;
        cuFuncGetAttribute(&raw mut most, CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, func)
            .result()
            .map_err(|error| error.0)?;
        let most = if blockSizeLimit > 0 { most.min(blockSizeLimit) } else { most };
        let wave = device.properties().wave_size as c_int;
        let whole = most / wave * wave;
        let sizes = (whole != most).then_some(most).into_iter().chain((1..=whole / wave).rev().map(|n| n * wave));
        let (mut best, mut threads) = (None, 0);
        for size in sizes {
            let mut blocks = 0;
            hip_call!(
                table,
                hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                    &raw mut blocks, func.cast(), size, shared(size), flags,
                )
            )?;
            if blocks * size > threads {
                (best, threads) = (Some((blocks * units, size)), blocks * size);
            }
        }
        let (grid, block) = best.ok_or(CUresult::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES)?;
        give(minGridSize, grid)?;
        give(blockSize, block)
    }

    /// There are no clusters of blocks.
    fn cuOccupancyMaxActiveClusters(
        _numClusters: *mut c_int,
        _func: CUfunction,
        _config: *const CUlaunchConfig,
    ) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }

    fn cuOccupancyMaxPotentialClusterSize(
        _clusterSize: *mut c_int,
        _func: CUfunction,
        _config: *const CUlaunchConfig,
    ) {
        Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    }
}
