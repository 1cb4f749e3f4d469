//! The targets a virtual GPU can be, one row each.

use code_object::KernelDescriptor;
use code_object::occupancy::{ComputeUnit, Resources};

use super::Isa;

/// A family of instruction encodings and register conventions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generation {
    /// CDNA 2: wave64, accumulation registers in one file with the vector registers (gfx90a).
    Gfx9,
    /// CDNA 3 and 4: the same, with architected flat scratch (gfx942, gfx950).
    Gfx940,
    /// RDNA 1 and 2.
    Gfx10,
    /// RDNA 3.
    Gfx11,
    /// RDNA 4: workgroup ids in trap registers, split barriers, floating-point scalar instructions.
    Gfx12,
}

impl Generation {
    /// All of them.
    pub const ALL: [Generation; 5] =
        [Generation::Gfx9, Generation::Gfx940, Generation::Gfx10, Generation::Gfx11, Generation::Gfx12];

    /// The instruction set that all its processors have, and some extend.
    pub const fn isa(self) -> Isa {
        match self {
            Generation::Gfx9 => Isa::Gfx90a,
            Generation::Gfx940 => Isa::Gfx942,
            Generation::Gfx10 => Isa::Gfx1030,
            Generation::Gfx11 => Isa::Gfx1100,
            Generation::Gfx12 => Isa::Gfx1201,
        }
    }

    /// Whether it is CDNA: only waves of 64, accumulation registers, arguments preloaded into SGPRs.
    pub const fn is_cdna(self) -> bool {
        matches!(self, Generation::Gfx9 | Generation::Gfx940)
    }

    /// Whether ECC guards registers (`sramecc+` in the target id), which are then always written whole: loads
    /// to one half clear the other.
    pub const fn has_register_ecc(self) -> bool {
        self.is_cdna()
    }
}

/// What a target is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// The processor's name, `gfx1100`.
    pub name: &'static str,
    /// What its opcodes mean.
    pub isa: Isa,
    /// The product name that devices report.
    pub product: &'static str,
    /// The whole target id that devices report.
    pub target_id: &'static str,
    /// Compute units of a device that is configured without a number.
    pub compute_units: u32,
    /// The wave size that devices report. Kernels of gfx10 and later choose 32 or 64 themselves.
    pub wave_size: u32,
    /// LDS that a workgroup can have, in bytes.
    pub lds_size: u32,
    /// Work-items that a workgroup can have.
    pub max_workgroup_size: u32,
    /// The unit in which descriptors count vector registers, for waves of 64 and of 32.
    pub vgpr_granule: [u32; 2],
    /// Vector registers a wave can address, ACC registers included.
    pub max_vgprs: u32,
    /// What the waves of a compute unit share.
    pub unit: ComputeUnit,
    /// Bytes of a line of the vector cache.
    pub cache_line: u32,
    /// Memory of a device that is configured without a size; never more than the host has.
    pub memory: u64,
    /// PCI device id.
    pub chip_id: u32,
    /// Clock in MHz that devices report; nothing runs at it.
    pub clock_mhz: u32,
}

/// Scalar registers of a wave where each has all of them.
const ALL_SGPRS: u32 = 128;
const KIB: u32 = 1 << 10;
const GIB: u64 = 1 << 30;

// NEW-TARGET: a row.
/// Every supported target.
pub const TARGETS: &[Target] = &[
    Target {
        name: "gfx90a",
        isa: Isa::Gfx90a,
        product: "ferrocm Virtual GPU (gfx90a)",
        target_id: "gfx90a:sramecc+:xnack-",
        compute_units: 8,
        wave_size: 64,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [8, 8],
        max_vgprs: 512,
        unit: ComputeUnit::of([9, 0, 10]),
        cache_line: 64,
        memory: 16 * GIB,
        chip_id: 0x740c,
        clock_mhz: 1700,
    },
    Target {
        name: "gfx942",
        isa: Isa::Gfx942,
        product: "ferrocm Virtual GPU (gfx942)",
        target_id: "gfx942:sramecc+:xnack-",
        compute_units: 8,
        wave_size: 64,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [8, 8],
        max_vgprs: 512,
        unit: ComputeUnit::of([9, 4, 2]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x74a1,
        clock_mhz: 2100,
    },
    Target {
        name: "gfx950",
        isa: Isa::Gfx950,
        product: "ferrocm Virtual GPU (gfx950)",
        target_id: "gfx950:sramecc+:xnack-",
        compute_units: 8,
        wave_size: 64,
        lds_size: 160 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [8, 8],
        max_vgprs: 512,
        unit: ComputeUnit::of([9, 5, 0]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x75a0,
        clock_mhz: 2400,
    },
    Target {
        name: "gfx1030",
        isa: Isa::Gfx1030,
        product: "ferrocm Virtual GPU (gfx1030)",
        target_id: "gfx1030",
        compute_units: 8,
        wave_size: 32,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [4, 8],
        max_vgprs: 256,
        unit: ComputeUnit::of([10, 3, 0]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x73bf,
        clock_mhz: 2250,
    },
    Target {
        name: "gfx1100",
        isa: Isa::Gfx1100,
        product: "ferrocm Virtual GPU (gfx1100)",
        target_id: "gfx1100",
        compute_units: 8,
        wave_size: 32,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [4, 8],
        max_vgprs: 256,
        unit: ComputeUnit::of([11, 0, 0]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x744c,
        clock_mhz: 2300,
    },
    Target {
        name: "gfx1151",
        isa: Isa::Gfx1151,
        product: "ferrocm Virtual GPU (gfx1151)",
        target_id: "gfx1151",
        compute_units: 8,
        wave_size: 32,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [4, 8],
        max_vgprs: 256,
        unit: ComputeUnit::of([11, 5, 1]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x1586,
        clock_mhz: 2900,
    },
    Target {
        name: "gfx1200",
        isa: Isa::Gfx1201,
        product: "ferrocm Virtual GPU (gfx1200)",
        target_id: "gfx1200",
        compute_units: 8,
        wave_size: 32,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [4, 8],
        max_vgprs: 256,
        unit: ComputeUnit::of([12, 0, 0]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x7590,
        clock_mhz: 3130,
    },
    Target {
        name: "gfx1201",
        isa: Isa::Gfx1201,
        product: "ferrocm Virtual GPU (gfx1201)",
        target_id: "gfx1201",
        compute_units: 8,
        wave_size: 32,
        lds_size: 64 * KIB,
        max_workgroup_size: 1024,
        vgpr_granule: [4, 8],
        max_vgprs: 256,
        unit: ComputeUnit::of([12, 0, 1]),
        cache_line: 128,
        memory: 16 * GIB,
        chip_id: 0x7550,
        clock_mhz: 2970,
    },
];

impl Target {
    /// Instruction encodings and register conventions.
    pub const fn generation(&self) -> Generation {
        self.isa.generation()
    }

    /// What a kernel takes by its descriptor, in workgroups of so many work-items with so many bytes of LDS,
    /// dynamic LDS included.
    pub fn resources(&self, descriptor: &KernelDescriptor, workgroup: u32, lds: u32) -> Resources {
        let wave_size = descriptor.wavefront_size();
        let granule = self.vgpr_granule[usize::from(wave_size == 32)];
        let vgprs = (descriptor.granulated_workitem_vgpr_count() + 1) * granule;
        Resources {
            wave_size,
            vgprs: vgprs.min(self.max_vgprs),
            // Counted in eights and given out in sixteens, where they are counted.
            sgprs: match self.unit.sgpr_file {
                Some(_) => (descriptor.granulated_wavefront_sgpr_count() / 2 + 1) * 16,
                None => ALL_SGPRS,
            },
            lds,
            workgroup,
            wgp_mode: !self.generation().is_cdna() && descriptor.enable_wgp_mode(),
        }
    }

    /// The target with that processor name.
    pub fn by_name(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }

    /// The supported names, for messages.
    pub fn names() -> String {
        TARGETS.iter().map(|target| target.name).collect::<Vec<_>>().join(", ")
    }
}
