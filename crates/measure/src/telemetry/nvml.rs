//! NVIDIA's `libnvidia-ml.so.1`, which is part of its driver.

use std::ffi::{CStr, c_char, c_uint};

use cuda_sys::nvml::{
    Table, nvmlClockType_t, nvmlDevice_t, nvmlMemory_v2_t, nvmlPciInfo_t, nvmlReturn_t,
    nvmlTemperatureSensors_t,
};
use hip::PciAddress;
use runs::record::{GpuInfo, Platform, Sample};
use serde_json::json;

use super::{Driver, Library};
use crate::detect::Detected;

/// The library, started.
#[derive(Debug)]
pub(super) struct Nvml(&'static Table);

/// A device of the library.
struct Gpu<'a>(&'a Table, nvmlDevice_t);

/// What a call has written; `None` if it has failed.
fn value<T: Default>(call: impl FnOnce(*mut T) -> nvmlReturn_t) -> Option<T> {
    let mut value = T::default();
    let status = call(&raw mut value);
    (status == nvmlReturn_t::NVML_SUCCESS).then_some(value)
}

/// The text that a call has written; `None` if it has failed.
fn text(call: impl FnOnce(*mut c_char, c_uint) -> nvmlReturn_t) -> Option<String> {
    // NVML's longest texts have 96 bytes.
    let mut buffer = [0_u8; 128];
    let status = call(buffer.as_mut_ptr().cast(), buffer.len() as c_uint);
    let text = CStr::from_bytes_until_nul(&buffer).ok()?;
    (status == nvmlReturn_t::NVML_SUCCESS).then(|| text.to_string_lossy().into_owned())
}

impl Nvml {
    /// Opens and starts the library.
    pub(super) fn load() -> Result<Self, String> {
        Self::start(Table::load().map_err(|error| error.to_string())?)
    }

    /// Whether a variable names the file.
    pub(super) fn is_named() -> bool {
        variables::NVML_LIBRARY.path().is_some()
    }

    fn start(table: &'static Table) -> Result<Self, String> {
        // SAFETY: it may be called at any time, as often as it is ended. The library stays, as the process
        // does.
        match unsafe { (table.nvmlInit_v2)() } {
            nvmlReturn_t::NVML_SUCCESS => Ok(Self(table)),
            status => {
                let file = table.path().map(|path| path.display().to_string()).unwrap_or_default();
                Err(format!("NVML ({file}) does not start: {status:?}"))
            }
        }
    }

    fn count(&self) -> Option<u32> {
        // SAFETY: the library is started, and the number is a place to write to.
        value(|count| unsafe { (self.0.nvmlDeviceGetCount_v2)(count) })
    }

    fn gpu(&self, index: u32) -> Option<Gpu<'_>> {
        let mut device = std::ptr::null_mut();
        // SAFETY: the library is started, and the handle is a place to write to.
        let status = unsafe { (self.0.nvmlDeviceGetHandleByIndex_v2)(index, &raw mut device) };
        (status == nvmlReturn_t::NVML_SUCCESS).then_some(Gpu(self.0, device))
    }

    /// What the driver reports about its GPUs; the first is described. `None` if there are none.
    pub(super) fn detect(&self) -> Option<Detected> {
        let count = self.count().filter(|count| *count > 0)?;
        let gpu = self.gpu(0)?;
        let Driver { version, software } = self.driver();
        let mut info = GpuInfo {
            device_count: Some(u64::from(count)),
            device_name: gpu.name(),
            total_memory_gb: gpu.memory().map(|bytes| bytes as f64 / 1e9),
            gpu_cores: gpu.cores().map(u64::from),
            software_stack: Some("cuda".to_owned()),
            software_version: software,
            architecture: gpu.architecture(),
            clock_mhz: gpu.highest_clock(nvmlClockType_t::NVML_CLOCK_SM),
            power_limit_watts: gpu.power_limit(),
            driver_version: version,
            ..GpuInfo::default()
        };
        for (key, value) in [
            ("uuid", gpu.uuid().map(|uuid| json!(uuid))),
            ("pci", gpu.place().map(|place| json!(place.to_string()))),
            (
                "memory_clock_mhz",
                gpu.highest_clock(nvmlClockType_t::NVML_CLOCK_MEM).map(|clock| json!(clock)),
            ),
            ("memory_bus_bits", gpu.memory_bus_bits().map(|bits| json!(bits))),
        ] {
            if let Some(value) = value {
                info.other.insert(key.to_owned(), value);
            }
        }
        Some(Detected { platform: Platform::Nvidia, info, findings: Vec::new() })
    }
}

/// Each function asks the driver about the device; `None` if it does not tell.
impl Gpu<'_> {
    fn name(&self) -> Option<String> {
        // SAFETY: the device is the library's, and the text has this much room.
        text(|to, room| unsafe { (self.0.nvmlDeviceGetName)(self.1, to, room) })
    }

    fn uuid(&self) -> Option<String> {
        // SAFETY: as above.
        text(|to, room| unsafe { (self.0.nvmlDeviceGetUUID)(self.1, to, room) })
    }

    /// Bytes.
    fn memory(&self) -> Option<u64> {
        // The size and the number of the structure.
        let version = size_of::<nvmlMemory_v2_t>() as c_uint | 2 << 24;
        let mut memory = nvmlMemory_v2_t { version, ..nvmlMemory_v2_t::default() };
        // SAFETY: the device is the library's, and the structure is a place to write to.
        let status = unsafe { (self.0.nvmlDeviceGetMemoryInfo_v2)(self.1, &raw mut memory) };
        (status == nvmlReturn_t::NVML_SUCCESS).then_some(memory.total)
    }

    fn cores(&self) -> Option<u32> {
        // SAFETY: as above.
        value(|cores| unsafe { (self.0.nvmlDeviceGetNumGpuCores)(self.1, cores) })
    }

    fn memory_bus_bits(&self) -> Option<u32> {
        // SAFETY: as above.
        value(|bits| unsafe { (self.0.nvmlDeviceGetMemoryBusWidth)(self.1, bits) })
    }

    /// `sm_90`.
    fn architecture(&self) -> Option<String> {
        let mut minor = 0;
        // SAFETY: the device is the library's, and both numbers are places to write to.
        let major = value(|major| unsafe {
            (self.0.nvmlDeviceGetCudaComputeCapability)(self.1, major, &raw mut minor)
        })?;
        Some(format!("sm_{major}{minor}"))
    }

    fn place(&self) -> Option<PciAddress> {
        // SAFETY: as above.
        let place: nvmlPciInfo_t = value(|place| unsafe { (self.0.nvmlDeviceGetPciInfo_v3)(self.1, place) })?;
        Some(PciAddress { domain: place.domain, bus: place.bus, device: place.device })
    }

    /// MHz.
    fn highest_clock(&self, which: nvmlClockType_t) -> Option<f64> {
        // SAFETY: as above.
        value(|clock: *mut c_uint| unsafe { (self.0.nvmlDeviceGetMaxClockInfo)(self.1, which, clock) })
            .map(f64::from)
    }

    /// MHz.
    fn clock(&self, which: nvmlClockType_t) -> Option<f64> {
        // SAFETY: as above.
        value(|clock: *mut c_uint| unsafe { (self.0.nvmlDeviceGetClockInfo)(self.1, which, clock) })
            .map(f64::from)
    }

    /// Watts.
    fn power_limit(&self) -> Option<f64> {
        // SAFETY: as above.
        value(|limit| unsafe { (self.0.nvmlDeviceGetEnforcedPowerLimit)(self.1, limit) }).map(watts)
    }

    /// Watts.
    fn power(&self) -> Option<f64> {
        // SAFETY: as above.
        value(|power| unsafe { (self.0.nvmlDeviceGetPowerUsage)(self.1, power) }).map(watts)
    }

    /// Degrees Celsius.
    fn temperature(&self) -> Option<f64> {
        let sensor = nvmlTemperatureSensors_t::NVML_TEMPERATURE_GPU;
        // SAFETY: as above.
        value(|celsius: *mut c_uint| unsafe { (self.0.nvmlDeviceGetTemperature)(self.1, sensor, celsius) })
            .map(f64::from)
    }
}

impl Library for Nvml {
    fn device_at(&self, pci: PciAddress) -> Option<u32> {
        (0..self.count()?).find(|index| self.gpu(*index).and_then(|gpu| gpu.place()) == Some(pci))
    }

    fn power_limit(&self, device: u32) -> Option<f64> {
        self.gpu(device)?.power_limit()
    }

    fn now(&self, device: u32) -> Sample {
        let Some(gpu) = self.gpu(device) else { return Sample::default() };
        Sample {
            clock_mhz: gpu.clock(nvmlClockType_t::NVML_CLOCK_SM),
            memory_clock_mhz: gpu.clock(nvmlClockType_t::NVML_CLOCK_MEM),
            power_watts: gpu.power(),
            temperature_celsius: gpu.temperature(),
            ..Sample::default()
        }
    }

    fn driver(&self) -> Driver {
        // SAFETY: the library is started, and the text has this much room.
        let version = text(|to, room| unsafe { (self.0.nvmlSystemGetDriverVersion)(to, room) });
        // SAFETY: the library is started, and the number is a place to write to.
        let cuda: Option<i32> = value(|cuda| unsafe { (self.0.nvmlSystemGetCudaDriverVersion_v2)(cuda) });
        let software = cuda.map(|code| format!("{}.{}", code / 1000, code % 1000 / 10));
        Driver { version, software }
    }
}

/// Milliwatts in watts.
fn watts(milliwatts: u32) -> f64 {
    f64::from(milliwatts) / 1e3
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

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
        // SAFETY: the library has these functions of nvml.h only.
        let nvml = Nvml::start(unsafe { Table::load_from(&library) }.unwrap()).unwrap();
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
        // SAFETY: there is no such file.
        let error = unsafe { Table::load_from(Path::new("/no/such/libnvidia-ml.so.1")) }.unwrap_err();
        let error = error.to_string();
        assert!(error.contains("/no/such/libnvidia-ml.so.1"), "{error}");
    }
}
