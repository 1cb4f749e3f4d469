//! The targets that a virtual GPU can be: the processors whose instructions this crate decodes.

use std::sync::LazyLock;

use code_object::occupancy::Resources;
use code_object::{KernelDescriptor, Limits, PROCESSORS, Processor};

use super::Isa;

/// A family of instruction encodings and register conventions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Generation {
    /// CDNA 2: wave64, accumulation registers in one file with the vector registers (gfx90a).
    Gfx9,
    /// CDNA 3 and 4: as gfx9, with architected flat scratch (gfx942, gfx950).
    Gfx940,
    /// RDNA 1 and 2.
    Gfx10,
    /// RDNA 3.
    Gfx11,
    /// RDNA 4: workgroup ids in trap registers, split barriers, floating-point scalar instructions.
    Gfx12,
}

impl Generation {
    /// All families.
    pub const ALL: [Generation; 5] =
        [Generation::Gfx9, Generation::Gfx940, Generation::Gfx10, Generation::Gfx11, Generation::Gfx12];

    /// The instruction set that all its processors have. Some extend it.
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

    /// Whether ECC guards registers (`sramecc+` in the target id). Such registers are always written whole: a
    /// load to one half clears the other.
    pub const fn has_register_ecc(self) -> bool {
        self.is_cdna()
    }
}

/// A processor that the virtual GPU can be: its row in [`PROCESSORS`], and its instruction set.
#[derive(PartialEq, Eq, Debug)]
pub struct Target {
    /// The processor's name, `gfx1100`.
    pub name: &'static str,
    /// Its row.
    pub processor: &'static Processor,
    /// What its kernels can have.
    pub limits: Limits,
    /// What its opcodes mean.
    pub isa: Isa,
    /// The product name that devices report.
    pub product: String,
    /// The whole target id that devices report.
    pub target_id: String,
}

/// Scalar registers of a wave, if each wave has all of them.
const ALL_SGPRS: u32 = 128;

/// Every supported target: the processors whose row names an instruction set.
pub static TARGETS: LazyLock<Vec<Target>> =
    LazyLock::new(|| PROCESSORS.iter().filter_map(Target::new).collect());

impl Target {
    fn new(processor: &'static Processor) -> Option<Target> {
        let name = processor.name;
        let mut target_id = name.to_owned();
        for (has, state) in [(processor.sramecc, ":sramecc+"), (processor.xnack, ":xnack-")] {
            target_id.push_str(if has { state } else { "" });
        }
        Some(Target {
            name,
            processor,
            limits: processor.limits?,
            isa: Isa::of(processor)?,
            product: format!("ferrocm Virtual GPU ({name})"),
            target_id,
        })
    }

    /// Instruction encodings and register conventions.
    pub const fn generation(&self) -> Generation {
        self.isa.generation()
    }

    /// The resources that a kernel takes according to its descriptor, in workgroups of so many work-items and
    /// so many bytes of LDS, dynamic LDS included.
    pub fn resources(&self, descriptor: &KernelDescriptor, workgroup: u32, lds: u32) -> Resources {
        let wave_size = descriptor.wavefront_size();
        let granule = self.limits.vgpr_granule[usize::from(wave_size == 32)];
        let vgprs = (descriptor.granulated_workitem_vgpr_count() + 1) * granule;
        Resources {
            wave_size,
            vgprs: vgprs.min(self.limits.max_vgprs),
            // Descriptors count in eights; the registers are allocated in sixteens.
            sgprs: match self.limits.unit.sgpr_file {
                Some(_) => (descriptor.granulated_wavefront_sgpr_count() / 2 + 1) * 16,
                None => ALL_SGPRS,
            },
            lds,
            workgroup,
            wgp_mode: self.processor.architecture.has_wgp_mode() && descriptor.enable_wgp_mode(),
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
