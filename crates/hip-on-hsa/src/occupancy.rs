//! Occupancy: how many workgroups of a kernel a multiprocessor holds.

use code_object::occupancy::{ComputeUnit, Occupancy, Resources};
use hip_sys::{hipError_t, hipFunction_t};

use crate::device::Info;
use crate::error::{Result, entry};
use crate::module::{Function, function};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// A device's compute unit: registers by its processor, the rest as it says.
pub(crate) fn compute_unit(info: &Info) -> ComputeUnit {
    ComputeUnit {
        simds: info.simds_per_cu.max(1),
        waves_per_simd: (info.waves_per_cu / info.simds_per_cu.max(1)).max(1),
        lds: info.lds_bytes,
        ..ComputeUnit::of(info.gfx)
    }
}

/// Workgroups of `block` work-items that a multiprocessor holds at once.
pub(crate) fn active_blocks(function: &Function, block: u32, dynamic_lds: usize) -> Result<u32> {
    let device = function.code.device;
    let info = &device.info;
    if block == 0 {
        return Err(INVALID_VALUE);
    }
    if block > function.block_limit() {
        return Ok(0);
    }
    let lds = u32::try_from(dynamic_lds).ok().and_then(|dynamic| function.group_bytes.checked_add(dynamic));
    let Some(lds) = lds.filter(|lds| *lds <= info.lds_bytes) else { return Ok(0) };
    let resources = Resources {
        wave_size: function.wave_size,
        vgprs: function.vgprs,
        sgprs: function.sgprs,
        lds,
        workgroup: block,
        wgp_mode: function.wgp_mode,
    };
    let occupancy = Occupancy::new(&compute_unit(info), resources);
    let parts = device.units_per_multiprocessor() / occupancy.compute_units_per_unit();
    Ok(occupancy.workgroups_per_unit * parts.max(1))
}

/// # Safety
/// `out` is null or valid for writing.
unsafe fn max_active(out: *mut i32, handle: hipFunction_t, block: i32, dynamic_lds: usize) -> Result {
    let function = function(active()?, handle)?;
    // SAFETY: as this function's contract.
    let out = unsafe { out.as_mut() }.ok_or(INVALID_VALUE)?;
    let block = u32::try_from(block).map_err(|_| INVALID_VALUE)?;
    *out = active_blocks(&function, block, dynamic_lds)? as i32;
    Ok(())
}

/// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: *mut i32,
    function: hipFunction_t,
    block: i32,
    dynamic_lds: usize,
) -> hipError_t {
    // SAFETY: the caller passes null or a valid place.
    entry(|| unsafe { max_active(blocks, function, block, dynamic_lds) })
}

/// `hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: *mut i32,
    function: hipFunction_t,
    block: i32,
    dynamic_lds: usize,
    flags: u32,
) -> hipError_t {
    entry(|| {
        if flags > hip_sys::hipOccupancyDisableCachingOverride {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or a valid place.
        unsafe { max_active(blocks, function, block, dynamic_lds) }
    })
}

/// # Safety
/// `grid` and `block` are null or valid for writing.
unsafe fn potential(
    grid: *mut i32,
    block: *mut i32,
    handle: hipFunction_t,
    dynamic_lds: usize,
    limit: i32,
) -> Result {
    let function = function(active()?, handle)?;
    // SAFETY: as this function's contract.
    let (grid, block) = unsafe { grid.as_mut().zip(block.as_mut()) }.ok_or(INVALID_VALUE)?;
    let limit = match u32::try_from(limit).map_err(|_| INVALID_VALUE)? {
        0 => function.block_limit(),
        limit => limit.min(function.block_limit()),
    };
    let wave = function.wave_size;
    // The largest workgroup among those that keep most work-items resident.
    let (mut best_block, mut best_blocks) = (limit.min(wave).max(1), 0);
    let mut size = (limit / wave * wave).max(1);
    loop {
        let blocks = active_blocks(&function, size, dynamic_lds)?;
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

/// `hipModuleOccupancyMaxPotentialBlockSize`.
pub(crate) unsafe extern "C" fn hipModuleOccupancyMaxPotentialBlockSize(
    grid: *mut i32,
    block: *mut i32,
    function: hipFunction_t,
    dynamic_lds: usize,
    limit: i32,
) -> hipError_t {
    // SAFETY: the caller passes null or valid places.
    entry(|| unsafe { potential(grid, block, function, dynamic_lds, limit) })
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
        if flags > hip_sys::hipOccupancyDisableCachingOverride {
            return Err(INVALID_VALUE);
        }
        // SAFETY: the caller passes null or valid places.
        unsafe { potential(grid, block, function, dynamic_lds, limit) }
    })
}
