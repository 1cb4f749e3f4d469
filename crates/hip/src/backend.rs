//! The implementations behind a device: AMD's library, NVIDIA's, or the virtual GPU of this process.

#[cfg(any(test, not(feature = "virtual")))]
#[cfg_attr(
    feature = "virtual",
    allow(dead_code, reason = "only programs without virtual GPUs use the library's")
)]
mod in_library;
#[cfg(feature = "virtual")]
mod speed;
#[cfg(feature = "virtual")]
mod virtual_gpu;

use std::fmt;

#[cfg(not(feature = "virtual"))]
use code_object::TargetId;

use crate::call::call;
use crate::error::{Error, Result};
use crate::uri::{DeviceUri, Selection};

/// The implementation behind a device.
// NEW-BACKEND: a variant, its place in `ALL`, its scheme, and a function that opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// AMD's HIP library, opened at run time.
    Amd,
    /// NVIDIA's driver, opened at run time.
    Cuda,
    /// The virtual AMD GPU in this process: in the program, or in the HIP library if the program is built
    /// without it.
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

/// Why a backend was not chosen.
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

/// An initialised table, and the selected devices.
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

/// NVIDIA's driver and all its devices.
pub(crate) fn open_cuda() -> Result<Opened> {
    let backend = Backend::Cuda;
    let cuda = cuda_sys::Table::load().map_err(|error| backend.unavailable(error))?;
    let table = hip_on_cuda::table(cuda).map_err(|error| backend.unavailable(error))?;
    let count = device_count(table).map_err(|error| match error.code() {
        Some(hip_sys::hipError_t::hipErrorNoDevice) => backend.unavailable("NVIDIA's driver sees no GPU"),
        _ => backend.unavailable(error),
    })?;
    let uri = |ordinal: i32| DeviceUri::Cuda(Selection::Ordinal(ordinal.unsigned_abs()));
    Ok(Opened { backend, table, devices: (0..count).map(|ordinal| (ordinal, uri(ordinal))).collect() })
}

#[cfg(feature = "virtual")]
pub(crate) use virtual_gpu::open as open_virtual;

#[cfg(not(feature = "virtual"))]
pub(crate) use in_library::open as open_virtual;

#[cfg(feature = "virtual")]
pub(crate) use virtual_gpu::targets as virtual_targets;

/// The targets of virtual GPUs: none in this build.
#[cfg(not(feature = "virtual"))]
pub(crate) fn virtual_targets() -> Vec<TargetId> {
    Vec::new()
}

fn device_count(table: &hip_sys::Table) -> Result<i32> {
    let mut count = 0;
    // Ask for the count first: without a device, HIP 5 fails to initialise with "invalid device".
    // SAFETY: the count is a place to write to, and initialising takes no memory of ours.
    unsafe {
        call!(table, hipGetDeviceCount(&raw mut count))?;
        call!(table, hipInit(0))?;
    }
    Ok(count)
}

#[cfg(all(test, not(feature = "virtual")))]
mod tests {
    use crate::{Device, Error};

    #[test]
    fn a_program_without_the_virtual_gpu_says_so() {
        let error = Device::open("vgpu:gfx1100?cus=2").unwrap_err();
        assert!(matches!(error, Error::BackendUnavailable { backend: "vgpu", .. }), "{error}");
        assert!(error.to_string().contains("the feature `virtual`"), "{error}");
        assert!(Device::virtual_targets().is_empty());
        // On a machine with a GPU, `auto` stops there.
        if let Err(error) = Device::open("auto") {
            assert!(error.to_string().contains("vgpu: this program is built without"), "{error}");
        }
        assert!("vgpu:gfx1100?check=races".parse::<crate::DeviceUri>().is_ok(), "the URI is still valid");
    }
}
