//! Addresses in device memory.

use std::ffi::c_void;

/// An address in device memory. The host can only treat it as a number.
///
/// As a kernel argument it is an unchecked pointer: neither its device nor the kernel's access to it is
/// checked, and it does not order streams. Use it where borrows do not fit, such as one buffer passed twice,
/// or a null pointer ([`DeviceAddress::NULL`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "hipDeviceptr_t")]
pub struct DeviceAddress(pub u64);

impl DeviceAddress {
    /// The null pointer.
    pub const NULL: Self = Self(0);

    pub(crate) fn pointer(self) -> *mut c_void {
        // Only the device has exposed the address. This program never reads through it.
        std::ptr::with_exposed_provenance_mut(self.0 as usize)
    }

    pub(crate) fn offset(self, bytes: usize) -> Self {
        Self(self.0 + bytes as u64)
    }
}

impl std::fmt::Display for DeviceAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}
