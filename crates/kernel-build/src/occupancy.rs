//! The number of waves of a kernel that a SIMD unit holds.

use code_object::occupancy::{ComputeUnit, Occupancy, Resources};
use code_object::{Kernel, Processor, TargetId, gfx_version};

/// Waves per SIMD unit, limited by registers, LDS and workgroup size; `None` for unknown processors.
///
/// The rules are those of LLVM (`getOccupancyWithWorkGroupSizes` and `AMDGPUBaseInfo`): a kernel without a
/// required workgroup size may run in workgroups from one wave to its maximum, and the better of the two ends
/// counts. LLVM differs in two places, where the virtual GPU and
/// `hipOccupancyMaxActiveBlocksPerMultiprocessor` agree with this function: it ignores the allocation
/// granularity of LDS, and counts 81 to 88 and 97 to 100 scalar registers of gfx9 with a smaller granularity.
pub(crate) fn occupancy(target: &TargetId, kernel: &Kernel) -> Option<u32> {
    // Odd metadata from an unknown compiler must not overflow.
    const MOST: u32 = 1 << 20;
    let (major, unit) = compute_unit(&target.processor)?;
    let waves = |workgroup: u32| {
        let resources = Resources {
            wave_size: kernel.wavefront_size,
            vgprs: allocated_vgprs(major, &unit, kernel),
            sgprs: kernel.sgpr_count.min(MOST),
            lds: kernel.group_segment_size.min(MOST),
            workgroup: workgroup.min(MOST),
            wgp_mode: major >= 10 && kernel.descriptor.enable_wgp_mode(),
        };
        Occupancy::new(&unit, resources).waves_per_simd
    };
    let largest = waves(kernel.max_flat_workgroup_size);
    Some(if kernel.required_workgroup_size.is_some() { largest } else { largest.max(waves(1)) })
}

/// Vector registers that the kernel allocates at its start. They exceed those that it uses if the source
/// limits the number of waves.
fn allocated_vgprs(major: u32, unit: &ComputeUnit, kernel: &Kernel) -> u32 {
    // From gfx10 on, the descriptor counts in smaller units than the allocation granularity.
    let granule = match (major, kernel.wavefront_size) {
        (10.., 32) => 8,
        (10.., _) => 4,
        _ => unit.vgpr_alloc[0],
    };
    (kernel.descriptor.granulated_workitem_vgpr_count() + 1) * granule
}

/// A processor's major version and compute unit. A generic processor has the smallest compute unit among
/// those that run its code.
fn compute_unit(processor: &str) -> Option<(u32, ComputeUnit)> {
    let known = Processor::by_name(processor)?;
    if known.members.is_empty() {
        let version = gfx_version(processor)?;
        // gfx12.5 has different compute units.
        let row = matches!(version, [9..=11, ..] | [12, 0, _]);
        return row.then(|| (version[0], ComputeUnit::of(version)));
    }
    let members = known.members.iter().map(|member| compute_unit(member)).collect::<Option<Vec<_>>>()?;
    members.into_iter().min_by_key(|(_, unit)| (unit.vgpr_file, unit.lds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_have_the_compute_unit_of_their_version() {
        assert_eq!(gfx_version("gfx90a"), Some([9, 0, 10]));
        assert_eq!(gfx_version("gfx1151"), Some([11, 5, 1]));
        for bad in ["", "gfx", "gfx9", "gfx11-generic", "gfxé", "gfx9é", "sm_80"] {
            assert!(gfx_version(bad).is_none(), "{bad}");
        }
        let of = |name| compute_unit(name).map(|(_, unit)| unit);
        assert_eq!(of("gfx1100"), Some(ComputeUnit::of([11, 0, 0])));
        assert_eq!(of("gfx950").unwrap().lds, 160 << 10);
        for none in ["gfx1250", "gfx803", "gfx1299", "nonsense"] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn a_generic_processor_has_the_least_of_its_members() {
        let of = |name| compute_unit(name).unwrap();
        assert_eq!(of("gfx11-generic"), of("gfx1103"));
        assert_eq!(of("gfx12-generic"), of("gfx1200"));
        assert_eq!(of("gfx9-4-generic"), of("gfx942"));
        assert_eq!(of("gfx10-1-generic"), of("gfx1010"));
    }
}
