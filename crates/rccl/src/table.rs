//! The RCCL for a device.

use hip::Device;
use rccl_sys::Table;

use crate::error::{Error, Result};

/// Returns AMD's RCCL if AMD's libraries work with the device, or NVIDIA's NCCL if the device's driver loads
/// NVIDIA's code, else our own over the device's HIP.
pub(crate) fn of(device: &Device) -> Result<&'static Table> {
    let unavailable = |reason| Error::Unavailable { device: device.to_string(), reason };
    let vendors = if device.table().ext.driver_code.is_some() {
        rccl_on_nccl::table()
    } else if device.takes_amd_libraries() {
        Table::load()
    } else {
        return on_hip(device).map_err(unavailable);
    };
    match vendors {
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
