//! Chooses the virtual GPUs from a device URI.

use std::sync::OnceLock;

use hsa_sys::{Table, hsa_status_t};

/// The table behind the exported functions. The first call makes the devices.
///
/// If they cannot be made, the reason goes to standard error and every function returns
/// `HSA_STATUS_ERROR_NOT_SUPPORTED`. Only `hsa_init` returns `HSA_STATUS_ERROR_OUT_OF_RESOURCES`, as AMD's
/// library does without a GPU.
pub(crate) fn table() -> &'static Table {
    static TABLE: OnceLock<&'static Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        drop_in::log::start("libhsa-runtime64");
        let started = vgpu::environment::devices().and_then(|config| attach(&config));
        match started {
            Ok(()) => {
                // The caller of this library may not write a timeline itself.
                vgpu::hsa::show_calls();
                vgpu::hsa::table()
            }
            Err(reason) => {
                tracing::error!("the virtual GPU cannot start: {reason}");
                let mut builder = hsa_sys::Builder::new("virtual GPU", env!("CARGO_PKG_VERSION"));
                builder.hsa_init(without_devices);
                // SAFETY: the one function given takes nothing and returns what the headers allow.
                unsafe { builder.finish() }
            }
        }
    })
}

unsafe extern "C" fn without_devices() -> hsa_status_t {
    hsa_status_t::HSA_STATUS_ERROR_OUT_OF_RESOURCES
}

fn attach(config: &vgpu::DeviceConfig) -> Result<(), String> {
    vgpu::attach(config).map(drop).map_err(|error| error.to_string())
}
