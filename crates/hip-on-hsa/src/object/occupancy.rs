//! Occupancy: how many workgroups of a kernel a multiprocessor holds.

use code_object::occupancy::{ComputeUnit, Occupancy, Resources};
use hip_sys::hipError_t;

use crate::error::Result;
use crate::gpu::Info;
use crate::object::module::Function;

const INVALID_VALUE: hipError_t = hipError_t::hipErrorInvalidValue;

/// A device's compute unit: registers according to its processor, the rest from the agent's properties.
pub(crate) fn compute_unit(info: &Info) -> ComputeUnit {
    ComputeUnit {
        simds: info.simds_per_cu.max(1),
        waves_per_simd: (info.waves_per_cu / info.simds_per_cu.max(1)).max(1),
        lds: info.lds_bytes,
        ..ComputeUnit::of(&info.target.processor)
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
