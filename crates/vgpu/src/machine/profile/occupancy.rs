//! How many waves a compute unit holds at once, and what limits it.

use std::fmt;

use code_object::KernelDescriptor;
use serde::Serialize;

use crate::machine::target::Target;

/// LDS is given out in pieces of this many bytes.
const LDS_GRANULE: u32 = 512;
/// Scalar registers of a wave where each has all of them.
const ALL_SGPRS: u32 = 128;
/// Barriers that a compute unit keeps, one for each workgroup of more than one wave. A pair of compute units has twice as many.
const BARRIERS: u32 = 16;

/// What a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct Resources {
    /// Lanes of a wave, 32 or 64.
    pub wave_size: u32,
    /// Vector registers of a wave, ACC registers included.
    pub vgprs: u32,
    /// Scalar registers of a wave. gfx10 and later give each wave all it can address.
    pub sgprs: u32,
    /// Bytes of LDS of a workgroup.
    pub lds: u32,
    /// Work-items of a workgroup.
    pub workgroup: u32,
    /// Whether a workgroup may spread over a pair of compute units and their LDS (WGP mode of gfx10 and later).
    pub wgp_mode: bool,
}

impl Resources {
    /// What a kernel takes by its descriptor, in workgroups of so many work-items with so many bytes of LDS, dynamic LDS
    /// included.
    pub fn new(target: &Target, descriptor: &KernelDescriptor, workgroup: u32, lds: u32) -> Resources {
        let wave_size = descriptor.wavefront_size();
        let granule = target.vgpr_granule[usize::from(wave_size == 32)];
        let vgprs = (descriptor.granulated_workitem_vgpr_count() + 1) * granule;
        Resources {
            wave_size,
            vgprs: vgprs.min(target.max_vgprs),
            // Counted in eights and given out in sixteens, where they are counted.
            sgprs: match target.sgpr_file {
                Some(_) => (descriptor.granulated_wavefront_sgpr_count() / 2 + 1) * 16,
                None => ALL_SGPRS,
            },
            lds,
            workgroup,
            wgp_mode: !target.generation.is_cdna() && descriptor.enable_wgp_mode(),
        }
    }
}

/// What keeps more waves from running at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Nothing of the kernel: there are no more places for waves.
    WaveSlots,
    /// Vector registers.
    Vgprs,
    /// Scalar registers.
    Sgprs,
    /// LDS.
    Lds,
    /// Whole workgroups do not fill the places for waves, or there are no more barriers.
    Workgroups,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::WaveSlots => "wave slots",
            Limit::Vgprs => "VGPRs",
            Limit::Sgprs => "SGPRs",
            Limit::Lds => "LDS",
            Limit::Workgroups => "workgroups",
        })
    }
}

/// How many waves a SIMD unit holds at once, counted as AMD's compiler counts ("Occupancy [waves/SIMD]" of
/// `-Rpass-analysis=kernel-resource-usage`) but for the workgroup size and LDS of the dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
pub struct Occupancy {
    /// What the kernel takes.
    pub resources: Resources,
    /// Waves that a SIMD unit holds.
    pub waves_per_simd: u32,
    /// Waves that it could hold.
    pub max_waves_per_simd: u32,
    /// Whole workgroups that a compute unit, in WGP mode a pair of them, holds.
    pub workgroups_per_unit: u32,
    /// Waves per SIMD unit that vector registers alone would allow.
    pub by_vgprs: u32,
    /// Waves per SIMD unit that scalar registers alone would allow.
    pub by_sgprs: u32,
    /// Waves per SIMD unit that LDS alone would allow.
    pub by_lds: u32,
    /// Waves per SIMD unit that places for waves and barriers alone would allow.
    pub by_workgroups: u32,
    /// What limits.
    pub limited_by: Limit,
}

impl Occupancy {
    /// The occupancy of a kernel that takes `resources` on a target.
    pub fn new(target: &Target, resources: Resources) -> Occupancy {
        let max = target.max_waves_per_cu / target.simds_per_cu;
        let units = if resources.wgp_mode { 2 } else { 1 };
        let simds = target.simds_per_cu * units;
        let narrow = usize::from(resources.wave_size == 32);
        let granule = target.vgpr_alloc[narrow];
        let vgprs = resources.vgprs.max(1).next_multiple_of(granule);
        let by_vgprs = (target.vgpr_file[narrow] / vgprs).clamp(1, max);
        let by_sgprs = match target.sgpr_file {
            Some(file) => (file / resources.sgprs.max(16)).clamp(1, max),
            None => max,
        };
        let waves = resources.workgroup.div_ceil(resources.wave_size).max(1);
        let slots = max * simds / waves;
        let groups = if waves == 1 { slots } else { slots.min(BARRIERS * units) };
        let lds_groups = match resources.lds.next_multiple_of(LDS_GRANULE) {
            0 => u32::MAX,
            lds => target.lds_size * units / lds,
        };
        let per_simd = |groups: u32| groups.saturating_mul(waves).div_ceil(simds).clamp(1, max);
        let (by_lds, by_workgroups) = (per_simd(lds_groups), per_simd(groups));
        let waves_per_simd = by_vgprs.min(by_sgprs).min(by_lds).min(by_workgroups);
        let limited_by = match waves_per_simd {
            least if least == max => Limit::WaveSlots,
            least if least == by_vgprs => Limit::Vgprs,
            least if least == by_sgprs => Limit::Sgprs,
            least if least == by_lds => Limit::Lds,
            _ => Limit::Workgroups,
        };
        let by_registers = by_vgprs.min(by_sgprs) * simds / waves;
        Occupancy {
            resources,
            waves_per_simd,
            max_waves_per_simd: max,
            workgroups_per_unit: by_registers.min(groups).min(lds_groups).max(1),
            by_vgprs,
            by_sgprs,
            by_lds,
            by_workgroups,
            limited_by,
        }
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Resources { vgprs, sgprs, lds, workgroup, wgp_mode, .. } = self.resources;
        let unit = if wgp_mode { "pair of compute units" } else { "compute unit" };
        write!(
            f,
            "{} of {} waves per SIMD, {} workgroups per {unit}, limited by {}\n  \
             {vgprs} VGPRs allow {}, {sgprs} SGPRs {}, {lds} bytes of LDS {}, workgroups of {workgroup} {}",
            self.waves_per_simd,
            self.max_waves_per_simd,
            self.workgroups_per_unit,
            self.limited_by,
            self.by_vgprs,
            self.by_sgprs,
            self.by_lds,
            self.by_workgroups,
        )
    }
}
