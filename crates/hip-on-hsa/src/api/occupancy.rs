//! How many workgroups a multiprocessor holds, and which workgroup size fills it.

use std::ffi::c_void;
use std::sync::Arc;

use hip_sys::{hipError_t, hipFunction_t};

use crate::caller;
use crate::error::{Result, entry};
use crate::object::module::{Function, function};
use crate::object::occupancy::active_blocks;
use crate::object::symbols::by_pointer;
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// # Safety
/// `out` is null or valid for writing.
unsafe fn max_active(out: *mut i32, function: &Function, block: i32, dynamic_lds: usize) -> Result {
    // SAFETY: as this function's contract.
    let out = unsafe { caller::place(out) }?;
    let block = u32::try_from(block).map_err(|_| INVALID_VALUE)?;
    *out = active_blocks(function, block, dynamic_lds)? as i32;
    Ok(())
}

/// # Safety
/// `grid` and `block` are null or valid for writing.
unsafe fn potential(
    grid: *mut i32,
    block: *mut i32,
    function: &Function,
    dynamic_lds: usize,
    limit: i32,
) -> Result {
    // SAFETY: as this function's contract.
    let (grid, block) = unsafe { (caller::place(grid)?, caller::place(block)?) };
    // Zero and negative values mean no limit.
    let limit = match u32::try_from(limit) {
        Ok(limit @ 1..) => limit.min(function.block_limit()),
        _ => function.block_limit(),
    };
    let wave = function.wave_size;
    // The largest workgroup among those that keep most work-items resident.
    let (mut best_block, mut best_blocks) = (limit.min(wave).max(1), 0);
    let mut size = (limit / wave * wave).max(1);
    loop {
        let blocks = active_blocks(function, size, dynamic_lds)?;
        if blocks * size > best_blocks * best_block {
            (best_block, best_blocks) = (size, blocks);
        }
        if size <= wave {
            break;
        }
        size -= wave;
    }
    let whole = best_blocks.max(1) * function.code.device.multiprocessors();
    *grid = i32::try_from(whole).unwrap_or(i32::MAX);
    *block = best_block as i32;
    Ok(())
}

/// A function by its handle.
fn by_handle(handle: hipFunction_t) -> Result<Arc<Function>> {
    if handle.is_null() {
        return Err(INVALID_VALUE);
    }
    function(active()?, handle)
}

fn check_flags(flags: u32) -> Result {
    if flags > hip_sys::hipOccupancyDisableCachingOverride { Err(INVALID_VALUE) } else { Ok(()) }
}

macro_rules! occupancy {
    ($max_active:ident, $with_flags:ident, $potential:ident: $handle:ty, $find:expr) => {
        #[doc = concat!("`", stringify!($max_active), "`.")]
        pub(crate) unsafe extern "C" fn $max_active(
            blocks: *mut i32,
            function: $handle,
            block: i32,
            dynamic_lds: usize,
        ) -> hipError_t {
            // SAFETY: the caller passes null or a valid place.
            entry(|| unsafe { max_active(blocks, &*$find(function)?, block, dynamic_lds) })
        }

        #[doc = concat!("`", stringify!($with_flags), "`.")]
        pub(crate) unsafe extern "C" fn $with_flags(
            blocks: *mut i32,
            function: $handle,
            block: i32,
            dynamic_lds: usize,
            flags: u32,
        ) -> hipError_t {
            entry(|| {
                check_flags(flags)?;
                // SAFETY: the caller passes null or a valid place.
                unsafe { max_active(blocks, &*$find(function)?, block, dynamic_lds) }
            })
        }

        #[doc = concat!("`", stringify!($potential), "`.")]
        pub(crate) unsafe extern "C" fn $potential(
            grid: *mut i32,
            block: *mut i32,
            function: $handle,
            dynamic_lds: usize,
            limit: i32,
        ) -> hipError_t {
            // SAFETY: the caller passes null or valid places.
            entry(|| unsafe { potential(grid, block, &*$find(function)?, dynamic_lds, limit) })
        }
    };
}

occupancy! {
    hipModuleOccupancyMaxActiveBlocksPerMultiprocessor,
    hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    hipModuleOccupancyMaxPotentialBlockSize: hipFunction_t, by_handle
}
occupancy! {
    hipOccupancyMaxActiveBlocksPerMultiprocessor,
    hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
    hipOccupancyMaxPotentialBlockSize: *const c_void, by_pointer
}

/// `hipModuleOccupancyMaxPotentialBlockSizeWithFlags`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut i32,
    block: *mut i32,
    function: hipFunction_t,
    dynamic_lds: usize,
    limit: i32,
    flags: u32,
) -> hipError_t {
    entry(|| {
        check_flags(flags)?;
        // SAFETY: the caller passes null or valid places.
        unsafe { potential(grid, block, &*by_handle(function)?, dynamic_lds, limit) }
    })
}

/// `hipOccupancyAvailableDynamicSMemPerBlock`: the dynamic LDS that each of this many workgroups on a
/// multiprocessor can have; 0 if they do not fit.
pub(crate) unsafe extern "C" fn hipOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    pointer: *const c_void,
    blocks: i32,
    block: i32,
) -> hipError_t {
    entry(|| {
        let function = by_pointer(pointer)?;
        // SAFETY: the caller passes null or a valid place.
        let bytes = unsafe { caller::place(bytes) }?;
        let blocks = u32::try_from(blocks).ok().filter(|&blocks| blocks != 0).ok_or(INVALID_VALUE)?;
        let block = u32::try_from(block).ok().filter(|&block| block != 0).ok_or(INVALID_VALUE)?;
        let room = function.code.device.info.lds_bytes.saturating_sub(function.group_bytes) as usize;
        // The number of workgroups falls as LDS per workgroup grows: find the largest amount with which all
        // still fit.
        let fits = |lds: usize| -> Result<bool> { Ok(active_blocks(&function, block, lds)? >= blocks) };
        let (mut least, mut most) = (0, if fits(0)? { room } else { 0 });
        while least < most {
            let middle = (least + most).div_ceil(2);
            if fits(middle)? { least = middle } else { most = middle - 1 }
        }
        *bytes = least;
        Ok(())
    })
}
