//! Addresses in device memory.

use std::ffi::c_void;

/// An address in device memory; on the host a number, and nothing to read through.
///
/// As a kernel argument it stands for a pointer of which nothing is known: it is checked neither for its device nor for
/// what the kernel does with it, and streams are not ordered by it. That is for the few cases that borrows cannot
/// say, such as one buffer passed twice, or a null pointer ([`DeviceAddress::NULL`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[doc(alias = "hipDeviceptr_t")]
pub struct DeviceAddress(pub u64);

impl DeviceAddress {
    /// The null pointer.
    pub const NULL: Self = Self(0);

    pub(crate) fn pointer(self) -> *mut c_void {
        // The address was exposed to the device, not to this program: it is never read through here.
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
