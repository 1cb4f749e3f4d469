//! The extensions of a library. This project's own `libamdhip64` exports one function that returns them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::{DeviceFunction, DeviceOutput, Extensions, OpenVirtual, hipError_t, hipStream_t};

/// The name of the function, a [`GetExtensions`]. Its number is the version of [`ExportedExtensions`]: fields
/// are only added, at the end, and any other change gives the function another number.
pub const EXTENSIONS_SYMBOL: &CStr = c"ferrocm_hip_extensions_1";

/// Returns a library's extensions, which live as long as the process. Does not start the library.
pub type GetExtensions = unsafe extern "C" fn() -> *const ExportedExtensions;

macro_rules! exported {
    ($($name:ident: $type:ty,)*) => {
        /// The functions of [`Extensions`] as a library exports them, null for those that it lacks.
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct ExportedExtensions {
            /// The size of the library's structure in bytes. An older one has fewer fields, a newer one more.
            size: usize,
            /// The result of `hipRuntimeGetVersion`, without starting the library.
            pub(crate) runtime_version: usize,
            $(#[doc = concat!("[`Extensions::", stringify!($name), "`].")] $name: Option<$type>,)*
        }

        impl ExportedExtensions {
            /// The extensions of an implementation in this library.
            pub const fn new(runtime_version: usize, extensions: &Extensions) -> Self {
                Self { size: size_of::<Self>(), runtime_version, $($name: extensions.$name,)* }
            }

            /// The extensions as fields of a table.
            pub(crate) fn extensions(self) -> Extensions {
                Extensions { $($name: self.$name,)* ..Extensions::NONE }
            }
        }

        impl Extensions {
            /// Whether any of them is missing from AMD's libraries.
            pub(crate) fn are_own(&self) -> bool {
                $(self.$name.is_some())||*
            }
        }
    };
}

exported! {
    stream_fault_report: unsafe extern "C" fn(hipStream_t, *mut c_char, usize) -> usize,
    stream_fault_json: unsafe extern "C" fn(hipStream_t, *mut c_char, usize) -> usize,
    launch_failure: unsafe extern "C" fn(*mut c_char, usize) -> usize,
    stream_set_counters: unsafe extern "C" fn(hipStream_t, bool) -> hipError_t,
    stream_take_counters: unsafe extern "C" fn(hipStream_t, *mut c_char, usize) -> usize,
    device_output: unsafe extern "C" fn(Option<DeviceOutput>, *mut c_void),
    device_function: unsafe extern "C" fn(DeviceFunction, bool),
    set_release_waits: unsafe extern "C" fn(bool) -> bool,
    has_exact_bounds: unsafe extern "C" fn(c_int) -> bool,
    leave_reports: unsafe extern "C" fn(),
    open_virtual: OpenVirtual,
}

impl ExportedExtensions {
    /// The extensions of a library; none if it is not this project's.
    ///
    /// # Safety
    /// `lookup` returns functions of a HIP library that live as long as the process. If it finds the name
    /// [`EXTENSIONS_SYMBOL`], that function is a [`GetExtensions`].
    pub(crate) unsafe fn of_library(lookup: impl Fn(&CStr) -> Option<NonNull<c_void>>) -> Option<Self> {
        let function = lookup(EXTENSIONS_SYMBOL)?;
        // SAFETY: a function of that name has this signature, and returns null or a structure that lives as
        // long as the process. The structure begins with its size, and has that many bytes; missing fields
        // are null. Each field has the type that it had when it was added.
        unsafe {
            let get = std::mem::transmute::<NonNull<c_void>, GetExtensions>(function);
            let given = NonNull::new(get().cast_mut())?;
            let size = given.cast::<usize>().read().min(size_of::<Self>());
            let mut own = MaybeUninit::<Self>::zeroed();
            own.as_mut_ptr().cast::<u8>().copy_from_nonoverlapping(given.as_ptr().cast(), size);
            Some(own.assume_init())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// The number of words in the returned structure: its size, a version, and the functions.
    static WORDS: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn waits(_: bool) -> bool {
        true
    }

    unsafe extern "C" fn given() -> *const ExportedExtensions {
        match WORDS.load(Ordering::SeqCst) {
            0 => std::ptr::null(),
            words => {
                let mut all = vec![waits as *const () as usize; words];
                all[0] = size_of_val(&all[..]);
                all.leak().as_ptr().cast()
            }
        }
    }

    fn found(words: usize) -> Extensions {
        WORDS.store(words, Ordering::SeqCst);
        let lookup = |name: &CStr| {
            (name == EXTENSIONS_SYMBOL).then(|| NonNull::new(given as *const () as *mut c_void)).flatten()
        };
        // SAFETY: the function has the right form, except for the fields, which are never called.
        unsafe { ExportedExtensions::of_library(lookup) }
            .map_or(Extensions::NONE, ExportedExtensions::extensions)
    }

    #[test]
    fn older_and_newer_libraries_have_what_both_sides_know() {
        // SAFETY: nothing is found.
        assert!(unsafe { ExportedExtensions::of_library(|_| None) }.is_none());
        assert!(found(0).stream_fault_report.is_none() && found(2).stream_fault_report.is_none());
        let oldest = found(4);
        assert!(oldest.stream_fault_report.is_some() && oldest.stream_fault_json.is_some());
        assert!(oldest.launch_failure.is_none() && oldest.open_virtual.is_none());
        let fields = size_of::<ExportedExtensions>() / size_of::<usize>();
        for words in [fields, fields + 5] {
            let all = found(words);
            assert!(
                all.stream_fault_report.is_some() && all.open_virtual.is_some() && all.host_code.is_none()
            );
        }
    }

    #[test]
    fn what_is_exported_is_found() {
        let own = Extensions { set_release_waits: Some(waits), ..Extensions::NONE };
        let exported = ExportedExtensions::new(7, &own);
        assert_eq!((exported.size, exported.runtime_version), (size_of::<ExportedExtensions>(), 7));
        let found = exported.extensions();
        assert!(found.set_release_waits.is_some() && found.device_output.is_none());
        assert!(found.are_own() && !Extensions::NONE.are_own());
    }
}
