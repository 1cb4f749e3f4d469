//! What the device tests share: the device under test, and the test kernels compiled for it.
#![allow(dead_code, reason = "no test uses all of it")]

use std::path::Path;

use hip::{Device, Module};

/// The device that `FERROCM_DEVICE` names, else a virtual one.
pub(crate) fn device() -> Device {
    let uri = std::env::var(hip::uri::DEVICE_VARIABLE).ok().filter(|uri| !uri.is_empty());
    Device::open(uri.as_deref().unwrap_or("vgpu:gfx1100")).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether the device reports every access outside of its allocations.
pub(crate) fn finds_faults(device: &Device) -> bool {
    let finds = device.backend() == hip::Backend::Virtual;
    if !finds {
        eprintln!("skipped: {device} does not report every access out of bounds");
    }
    finds
}

/// The test kernels' code object for a processor.
pub(crate) fn compile(processor: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let build = kernel_build::Builder::new(folder).targets([processor]).build();
    let build = build.unwrap_or_else(|error| panic!("{error}"));
    build.modules[0].objects[0].bytes.clone()
}

/// The test kernels, loaded on a device.
pub(crate) fn module(device: &Device) -> Module {
    let code = compile(&device.target().processor);
    Module::load(device, &code).unwrap_or_else(|error| panic!("{error}"))
}
