//! The number of waves of a kernel that a SIMD unit holds.

use code_object::occupancy::{Occupancy, Resources};
use code_object::{Kernel, Limits, Processor, TargetId};

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
    let processor = Processor::by_name(&target.processor)?;
    let limits = limits(processor)?;
    let waves = |workgroup: u32| {
        let resources = Resources {
            wave_size: kernel.wavefront_size,
            vgprs: allocated_vgprs(&limits, kernel),
            sgprs: kernel.sgpr_count.min(MOST),
            lds: kernel.group_segment_size.min(MOST),
            workgroup: workgroup.min(MOST),
            wgp_mode: processor.architecture.has_wgp_mode() && kernel.descriptor.enable_wgp_mode(),
        };
        Occupancy::new(&limits.unit, resources).waves_per_simd
    };
    let largest = waves(kernel.max_flat_workgroup_size);
    Some(if kernel.required_workgroup_size.is_some() { largest } else { largest.max(waves(1)) })
}

/// Vector registers that the kernel asks for at its start. They are more than those it uses if the source
/// says that few waves shall run.
fn allocated_vgprs(limits: &Limits, kernel: &Kernel) -> u32 {
    let granule = limits.vgpr_granule[usize::from(kernel.wavefront_size == 32)];
    (kernel.descriptor.granulated_workitem_vgpr_count() + 1) * granule
}

/// A processor's limits. A generic processor has the smallest of those that run its code.
fn limits(processor: &Processor) -> Option<Limits> {
    let least = processor.members().filter_map(|member| member.limits);
    least.min_by_key(|limits| (limits.unit.vgpr_file, limits.unit.lds)).or(processor.limits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Option<Limits> {
        limits(Processor::by_name(name).unwrap())
    }

    #[test]
    fn old_processors_and_those_of_gfx12_5_have_no_occupancy() {
        for none in ["gfx1250", "gfx803"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(of("gfx950").unwrap().unit.lds, 160 << 10);
    }

    #[test]
    fn a_generic_processor_has_the_least_of_its_members() {
        for (generic, member) in [
            ("gfx11-generic", "gfx1103"),
            ("gfx12-generic", "gfx1200"),
            ("gfx9-4-generic", "gfx942"),
            ("gfx10-1-generic", "gfx1010"),
        ] {
            assert_eq!(of(generic), of(member), "{generic}");
        }
    }
}
