//! How many waves a compute unit holds at once, and what limits their number.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::processors::{CDNA, GCN, Processor, RDNA, RDNA1, gfx_version};

/// Scalar registers are allocated in pieces of this many, if waves share them.
const SGPR_GRANULE: u32 = 16;
/// Barriers of a compute unit. Each workgroup of more than one wave takes one. A pair of compute units has
/// twice as many.
const BARRIERS: u32 = 16;

/// What the waves of a compute unit share. LLVM's compiler uses the same numbers (`AMDGPUBaseInfo`); a test
/// of the virtual GPU compares them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ComputeUnit {
    /// SIMD units.
    pub simds: u32,
    /// Waves that a SIMD unit can hold.
    pub waves_per_simd: u32,
    /// Bytes of LDS.
    pub lds: u32,
    /// The unit in which LDS is allocated.
    pub lds_granule: u32,
    /// Vector registers per lane that the waves of a SIMD unit share, for waves of 64 and of 32. They include
    /// ACC registers in the same file.
    pub vgpr_file: [u32; 2],
    /// The unit in which vector registers are allocated.
    pub vgpr_alloc: [u32; 2],
    /// Scalar registers that the waves of a SIMD unit share; `None` if every wave has all that it can
    /// address.
    pub sgpr_file: Option<u32>,
}

impl ComputeUnit {
    /// Waves that it can hold at once.
    pub const fn waves(&self) -> u32 {
        self.simds * self.waves_per_simd
    }

    /// The compute unit of a processor by its name, `gfx90a`. An unknown one gets the smallest registers of
    /// its generation.
    pub fn of(processor: &str) -> ComputeUnit {
        let known = Processor::by_name(processor).and_then(|row| row.limits);
        known.map_or_else(
            || match gfx_version(processor) {
                Some([9, 4..=15, _]) => CDNA,
                Some([0..=9, ..]) => GCN,
                Some([10, 0..=2, _]) => RDNA1,
                _ => RDNA,
            },
            |limits| limits.unit,
        )
    }
}

/// What a kernel takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Resources {
    /// Lanes of a wave, 32 or 64.
    pub wave_size: u32,
    /// Vector registers of a wave, ACC registers included.
    pub vgprs: u32,
    /// Scalar registers of a wave. They do not matter from gfx10 on: each wave has all that it can address.
    pub sgprs: u32,
    /// Bytes of LDS of a workgroup.
    pub lds: u32,
    /// Work-items of a workgroup.
    pub workgroup: u32,
    /// Whether a workgroup may spread over a pair of compute units and their LDS (WGP mode of gfx10 and
    /// later).
    pub wgp_mode: bool,
}

impl Resources {
    /// Compute units that a workgroup may spread over.
    fn compute_units(&self) -> u32 {
        if self.wgp_mode { 2 } else { 1 }
    }
}

/// What keeps more waves from running at once.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Not the kernel: the SIMD unit has no more slots for waves.
    WaveSlots,
    /// Vector registers.
    Vgprs,
    /// Scalar registers.
    Sgprs,
    /// LDS.
    Lds,
    /// Whole workgroups do not fill the wave slots, or there are no more barriers.
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

/// How many waves a SIMD unit holds at once. AMD's compiler counts the same way ("Occupancy [waves/SIMD]" of
/// `-Rpass-analysis=kernel-resource-usage`), but this uses the workgroup size and LDS of the dispatch.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Occupancy {
    /// What the kernel takes.
    pub resources: Resources,
    /// Waves that a SIMD unit holds.
    pub waves_per_simd: u32,
    /// Waves that it could hold at most.
    pub max_waves_per_simd: u32,
    /// Whole workgroups that a compute unit holds; in WGP mode, a pair of them.
    pub workgroups_per_unit: u32,
    /// Waves per SIMD unit that vector registers alone would allow.
    pub by_vgprs: u32,
    /// Waves per SIMD unit that scalar registers alone would allow.
    pub by_sgprs: u32,
    /// Waves per SIMD unit that LDS alone would allow.
    pub by_lds: u32,
    /// Waves per SIMD unit that wave slots and barriers alone would allow.
    pub by_workgroups: u32,
    /// What limits the number of waves.
    pub limited_by: Limit,
}

impl Occupancy {
    /// Waves of whole workgroups that a compute unit holds.
    pub fn waves_per_unit(&self) -> f64 {
        let waves = self.resources.workgroup.div_ceil(self.resources.wave_size.max(1)).max(1);
        f64::from(self.workgroups_per_unit * waves) / f64::from(self.resources.compute_units())
    }

    /// The occupancy of a kernel that takes `resources` on such compute units.
    pub fn new(unit: &ComputeUnit, resources: Resources) -> Occupancy {
        let max = unit.waves_per_simd.max(1);
        let units = resources.compute_units();
        let simds = unit.simds.max(1) * units;
        let narrow = usize::from(resources.wave_size == 32);
        let granule = unit.vgpr_alloc[narrow];
        let vgprs = resources.vgprs.max(1).next_multiple_of(granule);
        let by_vgprs = (unit.vgpr_file[narrow] / vgprs).clamp(1, max);
        let by_sgprs = match unit.sgpr_file {
            Some(file) => {
                (file / resources.sgprs.next_multiple_of(SGPR_GRANULE).max(SGPR_GRANULE)).clamp(1, max)
            }
            None => max,
        };
        let waves = resources.workgroup.div_ceil(resources.wave_size.max(1)).max(1);
        let slots = max * simds / waves;
        let groups = if waves == 1 { slots } else { slots.min(BARRIERS * units) };
        let lds_groups = match resources.lds.next_multiple_of(unit.lds_granule) {
            0 => u32::MAX,
            lds => unit.lds * units / lds,
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

impl Occupancy {
    /// Compute units that [`workgroups_per_unit`](Occupancy::workgroups_per_unit) counts for: two in WGP
    /// mode.
    pub fn compute_units_per_unit(&self) -> u32 {
        self.resources.compute_units()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_workgroups_share_what_a_unit_has() {
        let groups =
            |processor, resources| Occupancy::new(&ComputeUnit::of(processor), resources).workgroups_per_unit;
        let small = Resources { wave_size: 64, vgprs: 8, sgprs: 16, lds: 0, workgroup: 256, wgp_mode: false };
        // 32 wave slots, four waves in each workgroup.
        assert_eq!(groups("gfx90a", small), 8);
        assert_eq!(groups("gfx90a", Resources { vgprs: 129, ..small }), 3);
        assert_eq!(groups("gfx90a", Resources { sgprs: 102, ..small }), 7);
        assert_eq!(groups("gfx90a", Resources { lds: 20 << 10, ..small }), 3);
        // One byte more than a third takes one more piece.
        assert_eq!(groups("gfx90a", Resources { lds: 21 * 1024 + 257, ..small }), 2);
        let narrow = Resources { wave_size: 32, workgroup: 128, ..small };
        assert_eq!(groups("gfx1100", narrow), 8);
        assert_eq!(groups("gfx1100", Resources { wgp_mode: true, ..narrow }), 16);
        assert_eq!(groups("gfx1100", Resources { vgprs: 256, ..narrow }), 2);
        assert_eq!(groups("gfx1030", Resources { vgprs: 256, ..narrow }), 2);
        // There are sixteen barriers.
        assert_eq!(groups("gfx90a", Resources { workgroup: 65, ..small }), 16);
    }

    #[test]
    fn unknown_processors_have_the_least_of_their_generation() {
        for (unknown, like) in
            [("gfx1037", "gfx1030"), ("gfx1199", "gfx1102"), ("gfx949", "gfx942"), ("gfx803", "gfx906")]
        {
            assert_eq!(ComputeUnit::of(unknown), ComputeUnit::of(like), "{unknown}");
        }
    }
}
