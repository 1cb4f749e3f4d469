//! Which implementation of rocBLAS is called: AMD's, NVIDIA's cuBLAS, or this project's own kernels.

use std::fmt;

use hip::Device;
use rocblas_sys::Table;

use crate::error::{Error, Result};

/// A choice of the implementation of rocBLAS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Choice {
    /// On GPUs of AMD's library, AMD's rocBLAS if it is installed, else this project's own kernels. On
    /// NVIDIA GPUs, cuBLAS. On virtual GPUs, this project's kernels.
    #[default]
    Auto,
    /// Only AMD's rocBLAS.
    Amd,
    /// Only NVIDIA's cuBLAS.
    Cublas,
    /// Only this project's own kernels.
    Kernels,
}

/// The implementation in use, and why others were skipped.
#[derive(Clone, Debug)]
pub struct Library {
    pub(crate) table: &'static Table,
    pub(crate) skipped: Vec<String>,
    /// The table is this program's, and calls NVIDIA's library.
    pub(crate) is_cublas: bool,
}

impl Library {
    /// Whether it is a shared library, AMD's or NVIDIA's, and not part of this program.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.table.path().is_some() || self.is_cublas
    }

    /// Why earlier choices were skipped; empty if the first one was taken.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }
}

/// The library's file, or the name of the implementation inside the process.
impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.table.path(), self.table.implementation()) {
            (Some(path), _) => path.display().fmt(f),
            (None, Some(name)) => f.write_str(name),
            (None, None) => f.write_str("an unnamed rocBLAS"),
        }
    }
}

/// Chooses the table for a device.
pub(crate) fn choose(device: &Device, choice: Choice) -> Result<Library> {
    type Find = fn(&Device) -> Result<&'static Table, String>;
    let order: &[Find] = match choice {
        Choice::Amd => &[amd],
        Choice::Cublas => &[cublas],
        Choice::Auto if device.table().ext.driver_code.is_some() => &[cublas],
        Choice::Auto if device.table().amd_release().is_some() => &[amd, kernels],
        Choice::Kernels | Choice::Auto => &[kernels],
    };
    let mut reasons = Vec::new();
    for find in order {
        match find(device) {
            Ok(table) => {
                // There is nothing else on NVIDIA's GPUs.
                let is_cublas = device.table().ext.driver_code.is_some();
                return Ok(Library { table, skipped: reasons, is_cublas });
            }
            Err(reason) => reasons.push(reason),
        }
    }
    Err(Error::NoLibrary { device: device.to_string(), reasons })
}

/// AMD's rocBLAS calls AMD's HIP, so the device must belong to that.
fn amd(device: &Device) -> Result<&'static Table, String> {
    if device.table().path().is_none() {
        return Err(format!("AMD's rocBLAS calls AMD's HIP, and {device} does not belong to it"));
    }
    Table::load().map_err(|error| error.to_string())
}

/// cuBLAS calls NVIDIA's driver, so the device must belong to that.
fn cublas(device: &Device) -> Result<&'static Table, String> {
    if device.table().ext.driver_code.is_none() {
        return Err(format!("cuBLAS calls NVIDIA's driver, and {device} does not belong to it"));
    }
    let cublas = cuda_sys::cublas::Table::load().map_err(|error| error.to_string())?;
    rocblas_on_cublas::table(cublas).map_err(|error| error.to_string())
}

/// This project's own kernels.
#[cfg(feature = "kernels")]
fn kernels(device: &Device) -> Result<&'static Table, String> {
    if device.table().ext.driver_code.is_some() {
        return Err(format!("this project's own kernels are compiled for AMD GPUs, and {device} is none"));
    }
    blas_on_kernels::table(device.table()).map_err(|error| error.to_string())
}

#[cfg(not(feature = "kernels"))]
fn kernels(_: &Device) -> Result<&'static Table, String> {
    Err("this program is built without its own kernels, the feature `kernels` of the crate `rocblas`"
        .to_owned())
}
