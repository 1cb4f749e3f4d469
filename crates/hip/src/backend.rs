//! The implementations behind a device: AMD's library, NVIDIA's, or the virtual GPU of this process.

use std::fmt;

use code_object::Feature;

use crate::call::call;
use crate::error::{Error, Result};
use crate::uri::{DeviceUri, Selection, VirtualGpu};

/// Who stands behind a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// AMD's HIP library, opened at run time.
    Amd,
    /// NVIDIA's driver, opened at run time.
    Cuda,
    /// The virtual AMD GPU in this process.
    Virtual,
}

impl Backend {
    /// The order in which `auto` tries them.
    pub(crate) const ALL: [Self; 3] = [Self::Amd, Self::Cuda, Self::Virtual];

    /// The scheme of its device URIs.
    pub fn scheme(self) -> &'static str {
        match self {
            Self::Amd => "amdgpu",
            Self::Cuda => "cuda",
            Self::Virtual => "vgpu",
        }
    }

    fn unavailable(self, reason: impl fmt::Display) -> Error {
        Error::BackendUnavailable { backend: self.scheme(), reason: reason.to_string() }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.scheme())
    }
}

/// Why a backend is not the one that was chosen.
#[derive(Clone, Debug)]
pub struct Skipped {
    /// The backend.
    pub backend: Backend,
    /// Why it was skipped.
    pub reason: String,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.backend, self.reason)
    }
}

/// A table that is initialised, and which of its devices are meant.
pub(crate) struct Opened {
    pub(crate) backend: Backend,
    pub(crate) table: &'static hip_sys::Table,
    /// Ordinals, each with the URI of that device.
    pub(crate) devices: Vec<(i32, DeviceUri)>,
}

/// AMD's library and all its devices.
pub(crate) fn open_amd() -> Result<Opened> {
    let backend = Backend::Amd;
    let table = hip_sys::Table::load().map_err(|error| backend.unavailable(error))?;
    let count = device_count(table).map_err(|error| backend.unavailable(error))?;
    if count == 0 {
        return Err(backend.unavailable("the HIP library sees no GPU"));
    }
    let uri = |ordinal: i32| DeviceUri::Amd(Selection::Ordinal(ordinal.unsigned_abs()));
    Ok(Opened { backend, table, devices: (0..count).map(|ordinal| (ordinal, uri(ordinal))).collect() })
}

/// The NVIDIA backend, which this version does not have.
pub(crate) fn open_cuda() -> Result<Opened> {
    Err(Backend::Cuda.unavailable("the NVIDIA backend is not part of this build"))
}

/// Virtual GPUs with these parameters, made if there are none.
pub(crate) fn open_virtual(gpu: &VirtualGpu) -> Result<Opened> {
    let backend = Backend::Virtual;
    let mut config = match &gpu.target {
        Some(target) => {
            vgpu::DeviceConfig::new(&target.to_string()).map_err(|error| backend.unavailable(error))?
        }
        None => vgpu::DeviceConfig::default(),
    };
    if let Some(compute_units) = gpu.compute_units {
        config.compute_units = compute_units;
    }
    if let Some(memory) = gpu.memory {
        config.memory = memory;
    }
    config.count = gpu.count.unwrap_or(1);
    (config.checks, config.counters) = (gpu.checks, gpu.counters);
    // The features are those of the processor whether they are stated or not: `gfx90a` is the same device with them.
    config.target.sramecc = Feature::Any;
    config.target.xnack = Feature::Any;
    let first = vgpu::attach(&config).map_err(|error| backend.unavailable(error))?;
    let table = hip_on_hsa::table(vgpu::hsa::table()).map_err(|error| backend.unavailable(error))?;
    let count = device_count(table).map_err(|error| backend.unavailable(error))?;
    let uri = DeviceUri::Virtual(VirtualGpu {
        target: Some(config.target.clone()),
        compute_units: Some(config.compute_units),
        memory: Some(config.memory),
        count: None,
        checks: config.checks,
        counters: config.counters,
    });
    let wanted = first..first + config.count as usize;
    let ordinals = wanted.filter_map(|index| i32::try_from(index).ok()).filter(|ordinal| *ordinal < count);
    let devices: Vec<_> = ordinals.map(|ordinal| (ordinal, uri.clone())).collect();
    if devices.len() != config.count as usize {
        return Err(
            backend.unavailable(format!("the runtime sees {count} devices, and not those just attached"))
        );
    }
    Ok(Opened { backend, table, devices })
}

fn device_count(table: &hip_sys::Table) -> Result<i32> {
    let mut count = 0;
    // The count goes first: asked to initialise without a device, HIP 5 says that the device is invalid.
    // SAFETY: the count is a place to write to, and initialising takes no memory of ours.
    unsafe {
        call!(table, hipGetDeviceCount(&raw mut count))?;
        call!(table, hipInit(0))?;
    }
    Ok(count)
}
