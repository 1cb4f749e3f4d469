//! The RCCL for a device.

use hip::Device;
use rccl_sys::Table;

use crate::error::{Error, Result};

/// Returns AMD's RCCL if AMD's libraries work with the device, else our own over the device's HIP.
pub(crate) fn of(device: &Device) -> Result<&'static Table> {
    let unavailable = |reason| Error::Unavailable { device: device.to_string(), reason };
    if !device.takes_amd_libraries() {
        return on_hip(device).map_err(unavailable);
    }
    match Table::load() {
        Ok(table) => Ok(table),
        Err(error) => on_hip(device).map_err(|own| unavailable(format!("{error}; {own}"))),
    }
}

#[cfg(feature = "on-hip")]
fn on_hip(device: &Device) -> Result<&'static Table, String> {
    rccl_on_hip::table(device.table()).map_err(|error| error.to_string())
}

#[cfg(not(feature = "on-hip"))]
fn on_hip(_: &Device) -> Result<&'static Table, String> {
    Err("this program was built without the feature `on-hip` of the crate `rccl`".to_owned())
}
