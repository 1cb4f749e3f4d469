//! Shared by the examples: their kernels, compiled for a device when they run.

use std::error::Error;
use std::path::Path;

use hip::{Device, Module};

/// The examples' kernels on a device. They are compiled once; later runs find the code in the cache.
///
/// This needs the device compiler that `ferrocm setup` installs. To embed code objects at build time instead,
/// see the documentation of `kernel-build`.
pub(crate) fn module(device: &Device) -> Result<Module, Box<dyn Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/kernels");
    let build = kernel_build::Builder::new(folder).targets([&device.target().processor]).build()?;
    Ok(Module::load(device, &build.modules[0].objects[0].bytes)?)
}
