//! NVIDIA's `libnvidia-ml.so.1`, which is part of its driver, through the crate `nvml-wrapper`.

use std::ffi::OsString;

use hip::PciAddress;
use nvml_wrapper::Nvml as Wrapper;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;
use runs::record::{GpuInfo, Platform, Sample};
use serde_json::json;

use super::Library;
use crate::detect::Detected;

const FILE: &str = "libnvidia-ml.so.1";

/// The library, started.
#[derive(Debug)]
pub(super) struct Nvml(Wrapper);

impl Nvml {
    /// Opens and starts the library.
    pub(super) fn load() -> Result<Self, String> {
        let file = variables::NVML_LIBRARY.path().map_or_else(|| OsString::from(FILE), OsString::from);
        Self::open(&file)
    }

    /// Whether a variable names the file.
    pub(super) fn is_named() -> bool {
        variables::NVML_LIBRARY.path().is_some()
    }

    fn open(file: &OsString) -> Result<Self, String> {
        let opened = Wrapper::builder().lib_path(file).init();
        opened.map(Self).map_err(|error| format!("NVML ({}): {}", file.display(), with_causes(&error)))
    }

    /// What the driver reports about its GPUs; the first is described. `None` if there are none.
    pub(super) fn detect(&self) -> Option<Detected> {
        let count = self.0.device_count().ok().filter(|count| *count > 0)?;
        let device = self.0.device_by_index(0).ok()?;
        let capability = device.cuda_compute_capability().ok();
        let cuda = self.0.sys_cuda_driver_version().ok();
        let mut info = GpuInfo {
            device_count: Some(u64::from(count)),
            device_name: device.name().ok(),
            total_memory_gb: device.memory_info().ok().map(|memory| memory.total as f64 / 1e9),
            gpu_cores: device.num_cores().ok().map(u64::from),
            software_stack: Some("cuda".to_owned()),
            software_version: cuda.map(|version| format!("{}.{}", version / 1000, version % 1000 / 10)),
            architecture: capability.map(|version| format!("sm_{}{}", version.major, version.minor)),
            clock_mhz: device.max_clock_info(Clock::SM).ok().map(f64::from),
            power_limit_watts: device.enforced_power_limit().ok().map(watts),
            driver_version: self.0.sys_driver_version().ok(),
            ..GpuInfo::default()
        };
        for (key, value) in [
            ("uuid", device.uuid().ok().map(|uuid| json!(uuid))),
            ("pci", device.pci_info().ok().map(|place| json!(place.bus_id))),
            (
                "memory_clock_mhz",
                device.max_clock_info(Clock::Memory).ok().map(|clock| json!(f64::from(clock))),
            ),
            ("memory_bus_bits", device.memory_bus_width().ok().map(|bits| json!(bits))),
        ] {
            if let Some(value) = value {
                info.other.insert(key.to_owned(), value);
            }
        }
        Some(Detected { platform: Platform::Nvidia, info, findings: Vec::new() })
    }
}

impl Library for Nvml {
    fn device_at(&self, pci: PciAddress) -> Option<u32> {
        let is_there = |index: &u32| {
            let place = self.0.device_by_index(*index).and_then(|device| device.pci_info());
            place.is_ok_and(|place| {
                PciAddress { domain: place.domain, bus: place.bus, device: place.device } == pci
            })
        };
        (0..self.0.device_count().ok()?).find(is_there)
    }

    fn power_limit(&self, device: u32) -> Option<f64> {
        self.0.device_by_index(device).and_then(|device| device.enforced_power_limit()).ok().map(watts)
    }

    fn now(&self, device: u32) -> Sample {
        let Ok(device) = self.0.device_by_index(device) else { return Sample::default() };
        Sample {
            clock_mhz: device.clock_info(Clock::SM).ok().map(f64::from),
            memory_clock_mhz: device.clock_info(Clock::Memory).ok().map(f64::from),
            power_watts: device.power_usage().ok().map(watts),
            temperature_celsius: device.temperature(TemperatureSensor::Gpu).ok().map(f64::from),
            ..Sample::default()
        }
    }
}

/// Milliwatts in watts.
fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1e3
}

fn with_causes(error: &NvmlError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |error| error.source());
    causes.fold(error.to_string(), |text, cause| match cause.to_string() {
        cause if text.contains(&cause) => text,
        cause => format!("{text}: {cause}"),
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::telemetry::Source;

    /// A library with those functions and types of nvml.h that are used, built from C by the compiler that
    /// Rust links with.
    fn stand_in() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("nvml.c"), folder.path().join("libnvidia-ml.so.1"));
        std::fs::write(&source, include_str!("nvml_stand_in.c")).unwrap();
        let mut compiler = std::process::Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-nostdlib", "-o"]).arg(&library).arg(&source);
        assert!(compiler.status().unwrap().success());
        (folder, library)
    }

    #[test]
    fn what_the_library_says_is_in_the_record_and_in_samples() {
        let (_folder, library) = stand_in();
        let nvml = Nvml::open(&library.into_os_string()).unwrap();
        let Detected { platform, info, .. } = nvml.detect().unwrap();
        assert_eq!((platform, info.device_count), (Platform::Nvidia, Some(2)));
        assert_eq!(info.device_name.as_deref(), Some("NVIDIA H100 80GB HBM3"));
        assert_eq!((info.gpu_cores, info.architecture.as_deref()), (Some(16_896), Some("sm_90")));
        assert_eq!(info.total_memory_gb, Some(85.52));
        assert_eq!((info.power_limit_watts, info.clock_mhz), (Some(700.0), Some(1980.0)));
        assert_eq!(info.driver_version.as_deref(), Some("570.86.15"));
        assert_eq!(info.software_version.as_deref(), Some("12.8"));
        let place = PciAddress { domain: 1, bus: 0x5d, device: 2 };
        assert_eq!((nvml.device_at(place), nvml.device_at(PciAddress { bus: 9, ..place })), (Some(1), None));
        let mut source = Source::of(Box::new(nvml));
        source.watch(&[PciAddress { bus: 9, ..place }, place]);
        assert_eq!(source.sample(0, 0.0), None);
        let sample = source.sample(1, 1.5).unwrap();
        assert_eq!((sample.gpu, sample.seconds, sample.clock_mhz), (1, 1.5, Some(1755.0)));
        assert_eq!((sample.power_watts, sample.temperature_celsius), (Some(412.5), Some(61.0)));
        assert_eq!(sample.memory_clock_mhz, None, "the library does not support it");
    }

    #[test]
    fn a_library_that_is_not_there_is_named() {
        let error = Nvml::open(&OsString::from("/no/such/libnvidia-ml.so.1")).unwrap_err();
        assert!(error.starts_with("NVML (/no/such/libnvidia-ml.so.1)"), "{error}");
    }
}
