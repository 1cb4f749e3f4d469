//! The implementations behind a device: AMD's library, NVIDIA's, or the virtual GPU of this process.

use std::fmt;

use crate::call::call;
use crate::error::{Error, Result};
use crate::uri::VirtualGpu;

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
    pub(crate) ordinals: Vec<i32>,
}

/// AMD's library and all its devices.
pub(crate) fn open_amd() -> Result<Opened> {
    let backend = Backend::Amd;
    let table = hip_sys::Table::load().map_err(|error| backend.unavailable(error))?;
    let count = device_count(table).map_err(|error| backend.unavailable(error))?;
    if count == 0 {
        return Err(backend.unavailable("the HIP library sees no GPU"));
    }
    Ok(Opened { backend, table, ordinals: (0..count).collect() })
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
    let first = vgpu::attach(&config).map_err(|error| backend.unavailable(error))?;
    let table = hip_on_hsa::table(vgpu::hsa::table()).map_err(|error| backend.unavailable(error))?;
    let count = device_count(table).map_err(|error| backend.unavailable(error))?;
    let wanted = first..first + config.count as usize;
    let ordinals: Vec<i32> =
        wanted.filter_map(|index| i32::try_from(index).ok()).filter(|o| *o < count).collect();
    if ordinals.len() != config.count as usize {
        return Err(
            backend.unavailable(format!("the runtime sees {count} devices, and not those just attached"))
        );
    }
    Ok(Opened { backend, table, ordinals })
}

fn device_count(table: &hip_sys::Table) -> Result<i32> {
    let mut count = 0;
    // SAFETY: initialising takes no memory of ours, and the count is a place to write to.
    unsafe {
        call!(table, hipInit(0))?;
        call!(table, hipGetDeviceCount(&raw mut count))?;
    }
    Ok(count)
}
