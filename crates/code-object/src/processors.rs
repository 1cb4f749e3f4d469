//! The table of AMD's processors. A fact about a processor stands here, and every crate asks its row.

use crate::occupancy::ComputeUnit;

/// What AMD calls a generation of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// gfx6 to gfx90c, except for CDNA.
    Gcn,
    /// gfx908.
    Cdna1,
    /// gfx90a.
    Cdna2,
    /// gfx940 to gfx942.
    Cdna3,
    /// gfx950.
    Cdna4,
    /// gfx101x.
    Rdna1,
    /// gfx103x.
    Rdna2,
    /// gfx110x.
    Rdna3,
    /// gfx115x.
    Rdna35,
    /// gfx120x.
    Rdna4,
    /// gfx125x, whose limits are not known here.
    Gfx125,
}

impl Architecture {
    /// Its name, `RDNA 3.5`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gcn => "GCN",
            Self::Cdna1 => "CDNA",
            Self::Cdna2 => "CDNA 2",
            Self::Cdna3 => "CDNA 3",
            Self::Cdna4 => "CDNA 4",
            Self::Rdna1 => "RDNA",
            Self::Rdna2 => "RDNA 2",
            Self::Rdna3 => "RDNA 3",
            Self::Rdna35 => "RDNA 3.5",
            Self::Rdna4 => "RDNA 4",
            Self::Gfx125 => "gfx12.5",
        }
    }

    /// Whether workgroups may spread over a pair of compute units (WGP mode).
    #[must_use]
    pub const fn has_wgp_mode(self) -> bool {
        matches!(self, Self::Rdna1 | Self::Rdna2 | Self::Rdna3 | Self::Rdna35 | Self::Rdna4)
    }

    /// The limits of its processors. A row says where a processor has more.
    const fn limits(self) -> Option<Limits> {
        const GCN_LIMITS: Limits = Limits {
            wave_size: 64,
            max_workgroup_size: 1024,
            vgpr_granule: [4, 4],
            max_vgprs: 256,
            cache_line: 64,
            unit: GCN,
        };
        const CDNA2_LIMITS: Limits =
            Limits { vgpr_granule: [8, 8], max_vgprs: 512, unit: CDNA, ..GCN_LIMITS };
        const RDNA2_LIMITS: Limits =
            Limits { wave_size: 32, vgpr_granule: [4, 8], cache_line: 128, unit: RDNA, ..GCN_LIMITS };
        Some(match self {
            Self::Gcn | Self::Cdna1 => GCN_LIMITS,
            Self::Cdna2 => CDNA2_LIMITS,
            Self::Cdna3 => Limits { cache_line: 128, ..CDNA2_LIMITS },
            Self::Cdna4 => Limits {
                cache_line: 128,
                unit: ComputeUnit { lds: 160 << 10, lds_granule: 1280, ..CDNA },
                ..CDNA2_LIMITS
            },
            Self::Rdna1 => Limits { unit: RDNA1, ..RDNA2_LIMITS },
            Self::Rdna2 | Self::Rdna3 | Self::Rdna35 => RDNA2_LIMITS,
            Self::Rdna4 => Limits { unit: RDNA_WIDE, ..RDNA2_LIMITS },
            Self::Gfx125 => return None,
        })
    }
}

/// One file each for vector registers, and none for ACC registers.
pub(crate) const GCN: ComputeUnit = ComputeUnit {
    simds: 4,
    waves_per_simd: 10,
    lds: 64 << 10,
    lds_granule: 512,
    vgpr_file: [256, 256],
    vgpr_alloc: [4, 4],
    sgpr_file: Some(800),
};
/// One file for vector and ACC registers.
pub(crate) const CDNA: ComputeUnit =
    ComputeUnit { waves_per_simd: 8, vgpr_file: [512, 512], vgpr_alloc: [8, 8], ..GCN };
/// Every wave has all scalar registers that it can address.
pub(crate) const RDNA: ComputeUnit = ComputeUnit {
    simds: 2,
    waves_per_simd: 16,
    vgpr_file: [512, 1024],
    vgpr_alloc: [8, 16],
    sgpr_file: None,
    ..GCN
};
pub(crate) const RDNA1: ComputeUnit = ComputeUnit { waves_per_simd: 20, vgpr_alloc: [4, 8], ..RDNA };
/// Half as many vector registers again.
const RDNA_WIDE: ComputeUnit = ComputeUnit { vgpr_file: [768, 1536], vgpr_alloc: [12, 24], ..RDNA };

/// What kernels of a processor can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The wave size that devices report. Kernels of gfx10 and later choose 32 or 64 themselves.
    pub wave_size: u32,
    /// Work-items that a workgroup can have.
    pub max_workgroup_size: u32,
    /// The unit in which descriptors count vector registers, for waves of 64 and of 32.
    pub vgpr_granule: [u32; 2],
    /// Vector registers that a wave can address, with the ACC registers that are in the same file.
    pub max_vgprs: u32,
    /// Bytes of a line of the vector cache.
    pub cache_line: u32,
    /// What the waves of a compute unit share. A workgroup can have all of its LDS.
    pub unit: ComputeUnit,
}

/// One AMD GPU processor, or a generic one that stands for several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    /// Name as in a target id.
    pub name: &'static str,
    /// Number in the ELF header's flags (`EF_AMDGPU_MACH`).
    pub mach: u32,
    /// The generation that it belongs to.
    pub architecture: Architecture,
    /// Code may ask for XNACK on or off.
    pub xnack: bool,
    /// Code may ask for SRAM ECC on or off.
    pub sramecc: bool,
    /// The generic processor whose code it runs, if there is one.
    pub generic: Option<&'static str>,
    /// What its kernels can have; `None` if that is not known here.
    pub limits: Option<Limits>,
    /// The processor after which its instruction set is named, if the virtual GPU executes it. Processors
    /// with the same instructions name the same one.
    pub instructions: Option<&'static str>,
    /// Kernels are compiled for it when nobody says for which processors.
    pub is_default: bool,
    /// PCI device id of a product; 0 if the virtual GPU does not report one.
    pub pci_id: u32,
    /// Highest clock of a product in MHz; 0 if the virtual GPU does not report one.
    pub clock_mhz: u32,
    /// Some products with it.
    pub products: &'static [&'static str],
}

/// A row; the last column is `x` for XNACK, `s` for SRAM ECC.
const fn p(name: &'static str, mach: u32, architecture: Architecture, features: &str) -> Processor {
    let f = features.as_bytes();
    Processor {
        name,
        mach,
        architecture,
        xnack: !f.is_empty() && f[0] == b'x',
        sramecc: !f.is_empty() && f[f.len() - 1] == b's',
        generic: None,
        limits: architecture.limits(),
        instructions: None,
        is_default: false,
        pci_id: 0,
        clock_mhz: 0,
        products: &[],
    }
}

/// What a row may say besides.
impl Processor {
    const fn generic(self, name: &'static str) -> Self {
        Self { generic: Some(name), ..self }
    }

    /// Nothing is known of its limits.
    const fn old(self) -> Self {
        Self { limits: None, ..self }
    }

    /// It has half as many vector registers again as others of its generation.
    const fn wide(self) -> Self {
        let Some(limits) = self.limits else { return self };
        Self { limits: Some(Limits { unit: RDNA_WIDE, ..limits }), ..self }
    }

    /// The virtual GPU executes its code: the processor after which the instruction set is named, and what a
    /// device reports.
    const fn executes(self, instructions: &'static str, pci_id: u32, clock_mhz: u32) -> Self {
        Self { instructions: Some(instructions), pci_id, clock_mhz, ..self }
    }

    const fn default(self) -> Self {
        Self { is_default: true, ..self }
    }

    const fn products(self, products: &'static [&'static str]) -> Self {
        Self { products, ..self }
    }
}

use Architecture::{Cdna1, Cdna2, Cdna3, Cdna4, Gcn, Gfx125, Rdna1, Rdna2, Rdna3, Rdna4, Rdna35};

// NEW-TARGET: a row.
/// All processors that this crate knows by number.
///
/// A processor that is missing here still works: its name then comes from the metadata.
#[rustfmt::skip]
pub const PROCESSORS: &[Processor] = &[
    p("gfx600", 0x20, Gcn, "").old(),
    p("gfx601", 0x21, Gcn, "").old(),
    p("gfx602", 0x3a, Gcn, "").old(),
    p("gfx700", 0x22, Gcn, "").old(),
    p("gfx701", 0x23, Gcn, "").old(),
    p("gfx702", 0x24, Gcn, "").old(),
    p("gfx703", 0x25, Gcn, "").old(),
    p("gfx704", 0x26, Gcn, "").old(),
    p("gfx705", 0x3b, Gcn, "").old(),
    p("gfx801", 0x28, Gcn, "x").old(),
    p("gfx802", 0x29, Gcn, "").old(),
    p("gfx803", 0x2a, Gcn, "").old(),
    p("gfx805", 0x3c, Gcn, "").old(),
    p("gfx810", 0x2b, Gcn, "x").old(),
    p("gfx900", 0x2c, Gcn, "x").generic("gfx9-generic"),
    p("gfx902", 0x2d, Gcn, "x").generic("gfx9-generic"),
    p("gfx904", 0x2e, Gcn, "x").generic("gfx9-generic"),
    p("gfx906", 0x2f, Gcn, "xs").generic("gfx9-generic").products(&["Instinct MI50", "Instinct MI60", "Radeon VII"]),
    p("gfx908", 0x30, Cdna1, "xs").products(&["Instinct MI100"]),
    p("gfx909", 0x31, Gcn, "x").generic("gfx9-generic"),
    p("gfx90a", 0x3f, Cdna2, "xs").executes("gfx90a", 0x740c, 1700).default()
        .products(&["Instinct MI210", "Instinct MI250", "Instinct MI250X"]),
    p("gfx90c", 0x32, Gcn, "x").generic("gfx9-generic"),
    p("gfx940", 0x40, Cdna3, "xs").generic("gfx9-4-generic"),
    p("gfx941", 0x4b, Cdna3, "xs").generic("gfx9-4-generic"),
    p("gfx942", 0x4c, Cdna3, "xs").generic("gfx9-4-generic").executes("gfx942", 0x74a1, 2100).default()
        .products(&["Instinct MI300A", "Instinct MI300X", "Instinct MI325X"]),
    p("gfx950", 0x4f, Cdna4, "xs").generic("gfx9-4-generic").executes("gfx950", 0x75a0, 2400).default()
        .products(&["Instinct MI350X", "Instinct MI355X"]),
    p("gfx1010", 0x33, Rdna1, "x").generic("gfx10-1-generic"),
    p("gfx1011", 0x34, Rdna1, "x").generic("gfx10-1-generic"),
    p("gfx1012", 0x35, Rdna1, "x").generic("gfx10-1-generic"),
    p("gfx1013", 0x42, Rdna1, "x").generic("gfx10-1-generic"),
    p("gfx1030", 0x36, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x73bf, 2250).default()
        .products(&["Radeon RX 6800", "Radeon RX 6800 XT", "Radeon RX 6900 XT"]),
    p("gfx1031", 0x37, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x73df, 2581)
        .products(&["Radeon RX 6700 XT"]),
    p("gfx1032", 0x38, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x73ff, 2589)
        .products(&["Radeon RX 6600", "Radeon RX 6600 XT"]),
    p("gfx1033", 0x39, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x163f, 1600)
        .products(&["Steam Deck"]),
    p("gfx1034", 0x3e, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x743f, 2815)
        .products(&["Radeon RX 6400", "Radeon RX 6500 XT"]),
    p("gfx1035", 0x3d, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x1681, 2400)
        .products(&["Radeon 680M"]),
    p("gfx1036", 0x45, Rdna2, "").generic("gfx10-3-generic").executes("gfx1030", 0x164e, 2200)
        .products(&["Radeon 610M"]),
    p("gfx1100", 0x41, Rdna3, "").generic("gfx11-generic").wide().executes("gfx1100", 0x744c, 2300).default()
        .products(&["Radeon RX 7900 XT", "Radeon RX 7900 XTX"]),
    p("gfx1101", 0x46, Rdna3, "").generic("gfx11-generic").wide().executes("gfx1100", 0x747e, 2430)
        .products(&["Radeon RX 7700 XT", "Radeon RX 7800 XT"]),
    p("gfx1102", 0x47, Rdna3, "").generic("gfx11-generic").executes("gfx1100", 0x7480, 2655)
        .products(&["Radeon RX 7600"]),
    p("gfx1103", 0x44, Rdna3, "").generic("gfx11-generic").executes("gfx1100", 0x15bf, 2700)
        .products(&["Radeon 780M"]),
    p("gfx1150", 0x43, Rdna35, "").generic("gfx11-generic").executes("gfx1151", 0x150e, 2900)
        .products(&["Radeon 880M", "Radeon 890M"]),
    p("gfx1151", 0x4a, Rdna35, "").generic("gfx11-generic").wide().executes("gfx1151", 0x1586, 2900).default()
        .products(&["Radeon 8050S", "Radeon 8060S"]),
    p("gfx1152", 0x55, Rdna35, "").generic("gfx11-generic").executes("gfx1151", 0x1114, 3000)
        .products(&["Radeon 860M"]),
    p("gfx1153", 0x58, Rdna35, "").generic("gfx11-generic").executes("gfx1151", 0x1902, 2800),
    p("gfx1200", 0x48, Rdna4, "").generic("gfx12-generic").executes("gfx1201", 0x7590, 3130).default()
        .products(&["Radeon RX 9060 XT"]),
    p("gfx1201", 0x4e, Rdna4, "").generic("gfx12-generic").executes("gfx1201", 0x7550, 2970).default()
        .products(&["Radeon RX 9070", "Radeon RX 9070 XT"]),
    p("gfx1250", 0x49, Gfx125, ""),
    p("gfx1251", 0x5a, Gfx125, ""),
    p("gfx9-generic", 0x51, Gcn, "x"),
    p("gfx9-4-generic", 0x5f, Cdna3, "xs"),
    p("gfx10-1-generic", 0x52, Rdna1, "x"),
    p("gfx10-3-generic", 0x53, Rdna2, ""),
    p("gfx11-generic", 0x54, Rdna3, ""),
    p("gfx12-generic", 0x59, Rdna4, ""),
];

/// Major version, minor version and stepping in the name of a processor that is not generic: `gfx90a` is 9,
/// 0, 10. The last two are one hexadecimal digit each.
#[must_use]
pub fn gfx_version(processor: &str) -> Option<[u32; 3]> {
    let digits = processor.strip_prefix("gfx")?;
    let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
    let mut rest = rest.chars().map(|digit| digit.to_digit(16));
    Some([major.parse().ok()?, rest.next()??, rest.next()??])
}

impl Processor {
    /// Finds a processor by its name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        PROCESSORS.iter().find(|p| p.name == name)
    }

    /// Finds a processor by its number in the ELF header's flags.
    #[must_use]
    pub fn by_mach(mach: u32) -> Option<&'static Self> {
        PROCESSORS.iter().find(|p| p.mach == mach)
    }

    /// The processors that run a generic one's code; none for others.
    pub fn members(&self) -> impl Iterator<Item = &'static Self> + use<> {
        let name = self.name;
        PROCESSORS.iter().filter(move |processor| processor.generic == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TargetId;

    #[test]
    fn processors_have_one_row_each() {
        for (i, a) in PROCESSORS.iter().enumerate() {
            for b in &PROCESSORS[i + 1..] {
                assert_ne!(a.name, b.name);
                assert_ne!(a.mach, b.mach, "{} and {}", a.name, b.name);
                assert!(a.pci_id == 0 || a.pci_id != b.pci_id, "{} and {}", a.name, b.name);
            }
            assert_eq!(a.name.parse::<TargetId>().unwrap().to_string(), a.name);
        }
    }

    #[test]
    fn generic_processors_have_members_of_their_generation() {
        for processor in PROCESSORS {
            let is_generic = processor.name.ends_with("-generic");
            assert_eq!(processor.members().next().is_some(), is_generic, "{}", processor.name);
            for member in processor.members() {
                let [mine, other] =
                    [processor, member].map(|row| (row.xnack, row.limits.map(|l| l.wave_size)));
                assert_eq!(mine, other, "{}", member.name);
            }
            assert!(processor.generic.is_none_or(|generic| Processor::by_name(generic).is_some()));
        }
    }

    #[test]
    fn an_instruction_set_is_named_after_a_processor_that_has_it() {
        let executed =
            PROCESSORS.iter().filter_map(|row| Some((row, Processor::by_name(row.instructions?)?)));
        let mut count = 0;
        for (row, named) in executed {
            assert_eq!(named.instructions, Some(named.name), "{}", row.name);
            assert_eq!(row.architecture, named.architecture, "{}", row.name);
            assert!(row.limits.is_some() && row.pci_id != 0 && row.clock_mhz != 0, "{}", row.name);
            count += 1;
        }
        assert_eq!(count, PROCESSORS.iter().filter(|row| row.instructions.is_some()).count());
        assert!(PROCESSORS.iter().all(|row| !row.is_default || row.instructions.is_some()));
    }

    #[test]
    fn names_have_versions() {
        assert_eq!(gfx_version("gfx90a"), Some([9, 0, 10]));
        assert_eq!(gfx_version("gfx1151"), Some([11, 5, 1]));
        for bad in ["", "gfx", "gfx9", "gfx11-generic", "gfxé", "gfx9é", "sm_80"] {
            assert!(gfx_version(bad).is_none(), "{bad}");
        }
    }
}
