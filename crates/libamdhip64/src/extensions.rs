//! Extensions for programs that use `hip`: reports of faults, exact bounds, virtual GPUs by name.

use std::ffi::{CStr, c_char, c_int};
use std::panic::catch_unwind;
use std::sync::OnceLock;

use hip_sys::{ExportedExtensions, Extensions};

use crate::start;

/// The exported function, which returns the table of extensions.
#[unsafe(no_mangle)]
extern "C" fn ferrocm_hip_extensions_1() -> *const ExportedExtensions {
    static EXPORTED: OnceLock<ExportedExtensions> = OnceLock::new();
    EXPORTED.get_or_init(|| {
        let table = hip_on_hsa::unstarted();
        let mut version = 0;
        // If this fails, the version stays unknown.
        // SAFETY: the place is valid for writes; the function needs nothing that would have to be started.
        let _ = unsafe { (table.hipRuntimeGetVersion)(&raw mut version) };
        let own =
            Extensions { leave_reports: Some(leave_reports), open_virtual: Some(open_virtual), ..table.ext };
        ExportedExtensions::new(version.unsigned_abs() as usize, &own)
    })
}

/// [`Extensions::leave_reports`].
unsafe extern "C" fn leave_reports() {
    drop_in::log::leave_reports();
}

/// [`Extensions::open_virtual`].
unsafe extern "C" fn open_virtual(
    uri: *const c_char,
    first: *mut c_int,
    count: *mut c_int,
    text: *mut c_char,
    size: usize,
) -> bool {
    let opened = catch_unwind(|| {
        // SAFETY: the caller passes a text that ends in a NUL.
        let uri = unsafe { CStr::from_ptr(uri) }.to_str().map_err(|_| "the URI is not UTF-8".to_owned())?;
        start::open_virtual(uri)
    });
    let opened = opened.unwrap_or_else(|_| Err("the library panicked".to_owned()));
    let said = match &opened {
        Ok(opened) => opened.uri.as_bytes(),
        Err(reason) => reason.as_bytes(),
    };
    // SAFETY: the caller passes places for two numbers, and for a text of this many bytes.
    unsafe {
        if let Ok(opened) = &opened {
            first.write(opened.first);
            count.write(opened.count);
        }
        if size != 0 {
            let length = said.len().min(size - 1);
            text.cast::<u8>().copy_from_nonoverlapping(said.as_ptr(), length);
            text.add(length).write(0);
        }
    }
    opened.is_ok()
}
