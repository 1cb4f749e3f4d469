//! Occupancy (`cuOccupancy…`).

use std::ffi::{c_int, c_uint};

use super::super::sys;
use super::{DriverError, doing, returning};

/// Shared memory available to each of this many blocks (`cuOccupancyAvailableDynamicSMemPerBlock`).
pub unsafe fn available_dynamic_shared_mem_per_block(
    f: sys::CUfunction,
    num_blocks: c_int,
    block_size: c_int,
) -> Result<usize, DriverError> {
    returning!(0, |place| sys::cuOccupancyAvailableDynamicSMemPerBlock(place, f, num_blocks, block_size))
}

/// The number of blocks that run on a multiprocessor at once (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
pub unsafe fn max_active_block_per_multiprocessor(
    f: sys::CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
) -> Result<i32, DriverError> {
    returning!(0, |place| sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
        place,
        f,
        block_size,
        dynamic_smem_size
    ))
}

/// The number of blocks that run on a multiprocessor at once
/// (`cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`).
pub unsafe fn max_active_block_per_multiprocessor_with_flags(
    f: sys::CUfunction,
    block_size: c_int,
    dynamic_smem_size: usize,
    flags: c_uint,
) -> Result<i32, DriverError> {
    returning!(0, |place| sys::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        place,
        f,
        block_size,
        dynamic_smem_size,
        flags
    ))
}

/// The smallest grid that fills the device, and the best block size for it
/// (`cuOccupancyMaxPotentialBlockSize`).
pub unsafe fn max_potential_block_size(
    f: sys::CUfunction,
    block_size_to_dynamic_smem_size: sys::CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
) -> Result<(i32, i32), DriverError> {
    // SAFETY: the caller vouches for the same.
    unsafe {
        max_potential_block_size_with_flags(
            f,
            block_size_to_dynamic_smem_size,
            dynamic_smem_size,
            block_size_limit,
            0,
        )
    }
}

/// The smallest grid that fills the device, and the best block size for it
/// (`cuOccupancyMaxPotentialBlockSizeWithFlags`).
pub unsafe fn max_potential_block_size_with_flags(
    f: sys::CUfunction,
    block_size_to_dynamic_smem_size: sys::CUoccupancyB2DSize,
    dynamic_smem_size: usize,
    block_size_limit: c_int,
    flags: c_uint,
) -> Result<(i32, i32), DriverError> {
    let (mut grid, mut block) = (0, 0);
    doing!(sys::cuOccupancyMaxPotentialBlockSizeWithFlags(
        &raw mut grid,
        &raw mut block,
        f,
        block_size_to_dynamic_smem_size,
        dynamic_smem_size,
        block_size_limit,
        flags,
    ))?;
    Ok((grid, block))
}
