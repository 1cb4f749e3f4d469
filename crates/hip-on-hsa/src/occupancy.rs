//! Occupancy: how many workgroups of a kernel a multiprocessor holds.

use hip_sys::{hipError_t, hipFunction_t};

use crate::device::Info;
use crate::error::{Result, entry};
use crate::module::{Function, function};
use crate::runtime::active;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// Workgroups that a compute unit tracks, if each has more than one wave.
const GROUPS_PER_CU: u32 = 16;

/// The vector register file of a SIMD, by lane of a wave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RegisterFile {
    /// Registers that the waves of a SIMD share.
    pub(crate) total: u32,
    /// Registers are given out in multiples of this.
    granule: u32,
}

impl RegisterFile {
    /// The file of a processor for waves of a size. Unknown processors get their generation's smallest.
    pub(crate) fn of(info: &Info, wave: u32) -> Self {
        let [major, minor, stepping] = info.gfx;
        let half = if wave == 64 { 2 } else { 1 };
        match (major, minor, stepping) {
            // One file for vector and accumulation registers.
            (9, 0, 10) | (9, 4.., _) => Self { total: 512, granule: 8 },
            (..=9, ..) => Self { total: 256, granule: 4 },
            (10, 0..=2, _) => Self { total: 1024 / half, granule: 8 / half },
            (11, 0, 0 | 1) | (11, 5, 1) | (12, 0, 0 | 1) => Self { total: 1536 / half, granule: 24 / half },
            _ => Self { total: 1024 / half, granule: 16 / half },
        }
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
    // In WGP mode a workgroup may use both compute units of a pair and their LDS.
    let units = if function.wgp_mode { 2 } else { 1 };
    let per_multiprocessor = device.units_per_multiprocessor() / units;
    let waves = block.div_ceil(function.wave_size);

    let file = RegisterFile::of(info, function.wave_size);
    let registers = function.vgprs.max(1).next_multiple_of(file.granule);
    let waves_per_simd = (info.waves_per_cu / info.simds_per_cu).max(1).min(file.total / registers);
    let by_waves = waves_per_simd * info.simds_per_cu * units / waves;

    let lds = u64::from(function.group_bytes) + dynamic_lds as u64;
    if lds > info.lds_bytes.into() {
        return Ok(0);
    }
    let by_lds = (u64::from(info.lds_bytes) * u64::from(units)).checked_div(lds).unwrap_or(u64::MAX);
    let by_groups = if waves > 1 { GROUPS_PER_CU * units } else { u32::MAX };
    let blocks = by_waves.min(u32::try_from(by_lds).unwrap_or(u32::MAX)).min(by_groups);
    Ok(blocks * per_multiprocessor.max(1))
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
