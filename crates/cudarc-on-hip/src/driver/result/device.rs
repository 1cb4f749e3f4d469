//! Devices (`cuDevice…`).

use std::ffi::{CStr, c_int};

use super::super::sys;
use super::{DriverError, doing, returning};

/// The device of an ordinal (`cuDeviceGet`).
pub fn get(ordinal: c_int) -> Result<sys::CUdevice, DriverError> {
    returning!(0, |place| sys::cuDeviceGet(place, ordinal))
}

/// The number of devices (`cuDeviceGetCount`).
pub fn get_count() -> Result<c_int, DriverError> {
    returning!(0, |place| sys::cuDeviceGetCount(place))
}

/// The device's memory in bytes (`cuDeviceTotalMem`).
pub unsafe fn total_mem(dev: sys::CUdevice) -> Result<usize, DriverError> {
    returning!(0, |place| sys::cuDeviceTotalMem_v2(place, dev))
}

/// A property of the device (`cuDeviceGetAttribute`).
pub unsafe fn get_attribute(dev: sys::CUdevice, attrib: sys::CUdevice_attribute) -> Result<i32, DriverError> {
    returning!(0, |place| sys::cuDeviceGetAttribute(place, attrib, dev))
}

/// The device's name (`cuDeviceGetName`).
pub fn get_name(dev: sys::CUdevice) -> Result<String, DriverError> {
    let mut name = [0_u8; 256];
    doing!(sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as c_int, dev))?;
    let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
    Ok(name.to_string_lossy().into_owned())
}

/// The device's UUID (`cuDeviceGetUuid`).
pub fn get_uuid(dev: sys::CUdevice) -> Result<sys::CUuuid, DriverError> {
    returning!(sys::CUuuid { bytes: [0; 16] }, |place| sys::cuDeviceGetUuid_v2(place, dev))
}

/// The default memory pool (`cuDeviceGetDefaultMemPool`).
pub unsafe fn get_default_mem_pool(dev: sys::CUdevice) -> Result<sys::CUmemoryPool, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuDeviceGetDefaultMemPool(place, dev))
}

/// The current memory pool (`cuDeviceGetMemPool`).
pub unsafe fn get_mem_pool(dev: sys::CUdevice) -> Result<sys::CUmemoryPool, DriverError> {
    returning!(std::ptr::null_mut(), |place| sys::cuDeviceGetMemPool(place, dev))
}

/// Sets the current memory pool (`cuDeviceSetMemPool`).
pub unsafe fn set_mem_pool(dev: sys::CUdevice, pool: sys::CUmemoryPool) -> Result<(), DriverError> {
    doing!(sys::cuDeviceSetMemPool(dev, pool))
}
