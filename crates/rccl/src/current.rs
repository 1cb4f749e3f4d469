//! The current device of a thread, for which RCCL makes communicators.

use hip::Device;
use hip::hip_sys::hipError_t;

use crate::error::Result;

/// Makes a device current on this thread until this is dropped. `hip` expects others to restore the current
/// device.
pub(crate) struct Current<'a> {
    device: &'a Device,
    before: i32,
}

fn check(operation: &'static str, code: hipError_t) -> Result<()> {
    if code == hipError_t::hipSuccess { Ok(()) } else { Err(hip::Error::Hip { operation, code }.into()) }
}

impl<'a> Current<'a> {
    pub(crate) fn set(device: &'a Device) -> Result<Self> {
        let table = device.table();
        let mut before = 0;
        // SAFETY: the number is valid for writes.
        check("hipGetDevice", unsafe { (table.hipGetDevice)(&raw mut before) })?;
        // SAFETY: the call takes a number.
        check("hipSetDevice", unsafe { (table.hipSetDevice)(device.ordinal() as i32) })?;
        Ok(Self { device, before })
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        // SAFETY: the call takes a number.
        let code = unsafe { (self.device.table().hipSetDevice)(self.before) };
        if let Err(error) = check("hipSetDevice", code) {
            tracing::error!(%error, "cannot restore the current device");
        }
    }
}
