//! Identifies the GPU and its software.
//!
//! The number of lanes is computed from properties of the device: its units times the lanes of a unit, which
//! depend on the architecture ([`FAMILIES`]). Names are not used.

use std::fs;
use std::path::Path;

use hip::{Backend, Device};
use runs::record::{Finding, GpuInfo, Platform};
use serde_json::json;

use crate::telemetry::Source;

/// GPUs whose units have the same number of lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    /// What the vendor calls it.
    pub name: &'static str,
    /// The first architecture of the family: major version, then minor.
    pub first: (u32, u32),
    /// The last one.
    pub last: (u32, u32),
    /// Lanes of a multiprocessor as HIP or CUDA counts it.
    pub lanes: u32,
    /// Compute units of such a multiprocessor.
    pub units: u32,
}

const fn family(name: &'static str, first: (u32, u32), last: (u32, u32), lanes: u32, units: u32) -> Family {
    Family { name, first, last, lanes, units }
}

/// AMD's families, by the version in the names of processors. A compute unit has 64 lanes in all of them:
/// four times 16 that take four cycles for a wave (GCN, CDNA), or two times 32 (RDNA). Since RDNA, HIP counts
/// workgroup processors, which have two compute units each.
pub const FAMILIES: &[Family] = &[
    family("GCN", (6, 0), (8, u32::MAX), 64, 1),
    // Vega (gfx900 to gfx90c), MI100 to MI350 (gfx908, gfx90a, gfx942, gfx950).
    family("GCN 5 and CDNA", (9, 0), (9, 5), 64, 1),
    family("RDNA 1 and RDNA 2", (10, 1), (10, 3), 128, 2),
    family("RDNA 3", (11, 0), (11, 5), 128, 2),
    family("RDNA 4", (12, 0), (12, 0), 128, 2),
];

/// NVIDIA's families, by compute capability.
pub const NVIDIA_FAMILIES: &[Family] = &[
    family("Maxwell and Pascal", (5, 0), (5, u32::MAX), 128, 1),
    family("Pascal P100", (6, 0), (6, 0), 64, 1),
    family("Pascal", (6, 1), (6, 2), 128, 1),
    family("Volta and Turing", (7, 0), (7, 5), 64, 1),
    family("Ampere A100", (8, 0), (8, 0), 64, 1),
    family("Ampere and Ada", (8, 6), (8, 9), 128, 1),
    family("Hopper", (9, 0), (9, 0), 128, 1),
    family("Blackwell", (10, 0), (12, u32::MAX), 128, 1),
];

/// The family of an architecture by its name: `gfx942`, `sm_90`. `None` if the family is not known.
///
/// ```
/// use measure::detect::family_of;
///
/// // MI300X: 304 compute units of 64 lanes.
/// assert_eq!(304 * family_of("gfx942").unwrap().lanes, 19_456);
/// ```
#[must_use]
pub fn family_of(architecture: &str) -> Option<&'static Family> {
    let (version, families) = match architecture.strip_prefix("sm_") {
        Some(digits) => {
            let number: u32 =
                digits.trim_end_matches(|letter: char| letter.is_ascii_lowercase()).parse().ok()?;
            ((number / 10, number % 10), NVIDIA_FAMILIES)
        }
        None => {
            let [major, minor, _] = code_object::gfx_version(architecture)?;
            ((major, minor), FAMILIES)
        }
    };
    families.iter().find(|family| (family.first..=family.last).contains(&version))
}

/// Information about the devices.
#[derive(Debug, Clone, Default)]
pub struct Detected {
    /// Their vendor.
    pub platform: Platform,
    /// The GPUs and their software.
    pub info: GpuInfo,
    /// What a reader must know.
    pub findings: Vec<Finding>,
}

/// Queries the devices, describes the first, and asks the vendor's library for what HIP does not report.
#[must_use]
pub fn detect(devices: &[Device], source: Option<&Source>) -> Detected {
    let mut findings = Vec::new();
    let mut find = |kind: &str, text: String| findings.push(Finding::remark(kind, text));
    let Some(device) = devices.first() else { return Detected::default() };
    let platform = match device.backend() {
        Backend::Amd => Platform::Amd,
        Backend::Cuda => Platform::Nvidia,
        Backend::Virtual => Platform::Virtual,
    };
    if platform == Platform::Virtual {
        find(
            "virtual-gpu",
            "the GPU is a virtual one: all times are those of the CPU that executes it".to_owned(),
        );
    }
    let properties = device.properties();
    let processor = &properties.target.processor;
    let family = family_of(processor);
    if family.is_none() {
        find(
            "lanes-unknown",
            format!("the number of lanes of a unit of {processor} is not known, so gpu_cores is missing"),
        );
    }
    for (index, other) in devices.iter().enumerate().skip(1) {
        let other = other.properties();
        if (&other.name, &other.target, other.compute_units, other.memory)
            != (&properties.name, &properties.target, properties.compute_units, properties.memory)
        {
            find(
                "devices-differ",
                format!(
                    "device {index} ({}, {} units) differs from device 0 ({}, {} units)",
                    other.name, other.compute_units, properties.name, properties.compute_units
                ),
            );
        }
    }
    let table = device.table();
    // NVIDIA's library knows its driver; AMD's does not.
    let driver = source.map(Source::driver).unwrap_or_default();
    let (stack, software, driver) = match platform {
        Platform::Nvidia => ("cuda", driver.software, driver.version),
        Platform::Amd => ("rocm", rocm_version(table), driver_version(Path::new("/"))),
        _ => ("rocm", rocm_version(table), None),
    };
    let mut info = GpuInfo {
        device_count: Some(devices.len() as u64),
        device_name: Some(properties.name.clone()),
        total_memory_gb: Some(properties.memory as f64 / 1e9),
        gpu_cores: family.map(|family| u64::from(properties.compute_units) * u64::from(family.lanes)),
        software_stack: Some(stack.to_owned()),
        software_version: software,
        architecture: Some(processor.clone()),
        compute_units: family.map(|family| u64::from(properties.compute_units) * u64::from(family.units)),
        clock_mhz: (properties.clock > 0).then(|| f64::from(properties.clock) / 1e3),
        power_limit_watts: source.and_then(|source| source.power_limit(0)),
        driver_version: driver,
        ..GpuInfo::default()
    };
    let hip = match (table.path(), table.implementation()) {
        (Some(path), _) => Some(path.display().to_string()),
        (None, Some(name)) => Some(format!("{name} {}", table.implementation_version().unwrap_or_default())),
        (None, None) => None,
    };
    for (key, value) in [
        ("target", json!(properties.target.to_string())),
        ("uuid", json!(properties.uuid)),
        ("pci", json!(properties.pci.to_string())),
        (
            "memory_clock_mhz",
            json!((properties.memory_clock > 0).then(|| f64::from(properties.memory_clock) / 1e3)),
        ),
        ("memory_bus_bits", json!((properties.memory_bus_width > 0).then_some(properties.memory_bus_width))),
        ("hip_library", json!(hip)),
    ] {
        if !value.is_null() {
            info.other.insert(key.to_owned(), value);
        }
    }
    Detected { platform, info, findings }
}

/// The version of the installation that contains the HIP library, otherwise that of the library.
fn rocm_version(table: &hip::hip_sys::Table) -> Option<String> {
    let installation = table.path().and_then(|path| path.parent()?.parent());
    let written = installation.and_then(|folder| fs::read_to_string(folder.join(".info/version")).ok());
    let written = written.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    written.or_else(|| table.version().map(|version| version.to_string()))
}

/// The version of AMD's driver: its own, or that of the Linux kernel that contains it.
fn driver_version(root: &Path) -> Option<String> {
    let read = |path: &str| {
        let text = fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    if !root.join("sys/module/amdgpu").exists() {
        return None;
    }
    read("sys/module/amdgpu/version")
        .or_else(|| Some(format!("Linux {}", read("proc/sys/kernel/osrelease")?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes by the vendors' data sheets: what HIP counts, times the lanes of the family.
    #[test]
    fn lanes_are_those_of_the_data_sheets() {
        for (product, architecture, multiprocessors, lanes) in [
            ("MI100", "gfx908", 120, 7680),
            ("MI210", "gfx90a", 104, 6656),
            ("MI250X, a die", "gfx90a", 110, 7040),
            ("MI300A", "gfx942", 228, 14_592),
            ("MI300X", "gfx942", 304, 19_456),
            ("MI355X", "gfx950", 256, 16_384),
            ("Radeon VII", "gfx906", 60, 3840),
            ("RX 6900 XT", "gfx1030", 40, 5120),
            ("RX 7900 XTX", "gfx1100", 48, 6144),
            ("Radeon 8060S", "gfx1151", 20, 2560),
            ("RX 9070 XT", "gfx1201", 32, 4096),
            ("V100", "sm_70", 80, 5120),
            ("A100", "sm_80", 108, 6912),
            ("RTX 4090", "sm_89", 128, 16_384),
            ("H100 SXM", "sm_90a", 132, 16_896),
            ("B200", "sm_100", 148, 18_944),
        ] {
            let family = family_of(architecture).unwrap_or_else(|| panic!("{architecture}"));
            assert_eq!(multiprocessors * family.lanes, lanes, "{product}");
        }
    }

    #[test]
    fn a_compute_unit_of_amd_has_64_lanes() {
        assert!(FAMILIES.iter().all(|family| family.lanes == 64 * family.units));
    }

    #[test]
    fn every_target_with_kernels_has_a_family_and_others_have_none() {
        for module in kernels::modules::ALL {
            for object in module.code_objects {
                assert!(family_of(object.target).is_some(), "{}", object.target);
            }
        }
        for unknown in ["gfx1250", "gfx1", "sm_", "sm_20", "h100", ""] {
            assert_eq!(family_of(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_driver_is_the_module_or_the_kernel() {
        let root = std::env::temp_dir().join(format!("measure-driver-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/sys/kernel/osrelease", "6.8.0-40-generic\n");
        assert_eq!(driver_version(&root), None);
        write("sys/module/amdgpu/initstate", "live\n");
        assert_eq!(driver_version(&root).as_deref(), Some("Linux 6.8.0-40-generic"));
        write("sys/module/amdgpu/version", "6.10.5\n");
        assert_eq!(driver_version(&root).as_deref(), Some("6.10.5"));
        fs::remove_dir_all(&root).unwrap();
    }
}
