//! The functions that compiler-generated host code of kernels and variables calls.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::NonNull;

/// The functions with which compiled host code registers its fat binaries, and the host addresses of the
/// kernels and variables in them. HIP's headers do not declare them.
///
/// `register_fat_binary` returns a fat binary's handle. Headers and names must stay valid until it is
/// unregistered.
#[derive(Clone, Copy, Debug)]
pub struct HostCode {
    /// `__hipRegisterFatBinary`, with the fat binary's header.
    pub register_fat_binary: unsafe extern "C" fn(header: *const c_void) -> *mut *mut c_void,
    /// `__hipUnregisterFatBinary`.
    pub unregister_fat_binary: unsafe extern "C" fn(binary: *mut *mut c_void),
    /// `__hipRegisterFunction`: HIP ignores the last arguments.
    pub register_function: RegisterFunction,
    /// `__hipRegisterVar`.
    pub register_variable: RegisterVariable,
    /// `__hipRegisterManagedVar`: HIP allocates the variable, initialises it and writes its address.
    pub register_managed_variable: RegisterManagedVariable,
}

/// `__hipRegisterFunction`.
pub type RegisterFunction = unsafe extern "C" fn(
    binary: *mut *mut c_void,
    stub: *const c_void,
    device_function: *mut c_char,
    name: *const c_char,
    thread_limit: c_uint,
    thread: *mut c_void,
    block: *mut c_void,
    block_size: *mut c_void,
    grid_size: *mut c_void,
    wave_size: *mut c_int,
);

/// `__hipRegisterVar`.
pub type RegisterVariable = unsafe extern "C" fn(
    binary: *mut *mut c_void,
    variable: *mut c_void,
    host_name: *mut c_char,
    name: *mut c_char,
    external: c_int,
    size: usize,
    constant: c_int,
    global: c_int,
);

/// `__hipRegisterManagedVar`.
pub type RegisterManagedVariable = unsafe extern "C" fn(
    binary: *mut c_void,
    pointer: *mut *mut c_void,
    first: *mut c_void,
    name: *const c_char,
    size: usize,
    align: c_uint,
);

impl HostCode {
    /// The functions of a library, unless it lacks one.
    ///
    /// # Safety
    /// `lookup` returns functions of a HIP library that live as long as the process.
    pub(crate) unsafe fn of(lookup: impl Fn(&CStr) -> Option<NonNull<c_void>>) -> Option<Self> {
        macro_rules! function {
            ($name:literal as $type:ty) => {
                // SAFETY: all versions of HIP export the function with these arguments.
                unsafe { std::mem::transmute::<NonNull<c_void>, $type>(lookup($name)?) }
            };
        }
        Some(Self {
            register_fat_binary: function!(
                c"__hipRegisterFatBinary" as unsafe extern "C" fn(*const c_void) -> *mut *mut c_void
            ),
            unregister_fat_binary: function!(
                c"__hipUnregisterFatBinary" as unsafe extern "C" fn(*mut *mut c_void)
            ),
            register_function: function!(c"__hipRegisterFunction" as RegisterFunction),
            register_variable: function!(c"__hipRegisterVar" as RegisterVariable),
            register_managed_variable: function!(c"__hipRegisterManagedVar" as RegisterManagedVariable),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_has_all_of_the_functions_or_none() {
        let address = NonNull::<c_void>::dangling();
        // SAFETY: the result is never called.
        assert!(unsafe { HostCode::of(|_| Some(address)) }.is_some());
        let lookup = |name: &CStr| (name != c"__hipRegisterManagedVar").then_some(address);
        // SAFETY: as above.
        assert!(unsafe { HostCode::of(lookup) }.is_none());
    }
}
