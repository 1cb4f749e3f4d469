//! How many blocks fit.

use std::ffi::{c_int, c_uint, c_void};

use hip_sys::{hipError_t, hipFunction_t};

use super::kernel::allow_dynamic_lds;
use super::stub::function_of;
use crate::call::steps;
use crate::runtime::check;

/// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut c_int,
    function: hipFunction_t,
    block: c_int,
    lds: usize,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: the function is loaded, and the caller passes a place.
    steps(|cuda| unsafe {
        // What cannot be allowed does not fit, which the question tells.
        let _ = allow_dynamic_lds(cuda, function.cast(), lds);
        check((cuda.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
            blocks,
            function.cast(),
            block,
            lds,
            flags,
        ))
    })
}

/// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut c_int,
    function: hipFunction_t,
    block: c_int,
    lds: usize,
) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block, lds, 0) }
}

/// `hipModuleOccupancyMaxPotentialBlockSizeWithFlags`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
    grid: *mut c_int,
    block: *mut c_int,
    function: hipFunction_t,
    lds: usize,
    limit: c_int,
    flags: c_uint,
) -> hipError_t {
    // SAFETY: the function is loaded, and the caller passes places.
    steps(|cuda| unsafe {
        let _ = allow_dynamic_lds(cuda, function.cast(), lds);
        check((cuda.cuOccupancyMaxPotentialBlockSizeWithFlags)(
            grid,
            block,
            function.cast(),
            None,
            lds,
            limit,
            flags,
        ))
    })
}

/// `hipModuleOccupancyMaxPotentialBlockSize`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxPotentialBlockSize(
    grid: *mut c_int,
    block: *mut c_int,
    function: hipFunction_t,
    lds: usize,
    limit: c_int,
) -> hipError_t {
    // SAFETY: as there.
    unsafe { hipModuleOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, lds, limit, 0) }
}

/// `hipOccupancyAvailableDynamicSMemPerBlock`: of a kernel of a module, or of host code.
pub(crate) unsafe extern "C" fn hipOccupancyAvailableDynamicSMemPerBlock(
    bytes: *mut usize,
    function: *const c_void,
    blocks: c_int,
    block: c_int,
) -> hipError_t {
    steps(|cuda| {
        let function = function_of(cuda, function)?;
        // SAFETY: the function is loaded, and the caller passes a place.
        check(unsafe { (cuda.cuOccupancyAvailableDynamicSMemPerBlock)(bytes, function, blocks, block) })
    })
}
