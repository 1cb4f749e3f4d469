//! Functions by name: `hipGetProcAddress` and similar functions.

use std::ffi::{CStr, c_char, c_int, c_ulonglong, c_void};

use hip_sys::{SYMBOLS, hipDriverEntryPointQueryResult, hipDriverProcAddressQueryResult, hipError_t};

use crate::api::table::table;
use crate::caller;
use crate::error::{Result, entry};

/// Requests the variants of functions whose default stream is the thread's.
const PER_THREAD: u64 = hip_sys::hipEnablePerThreadDefaultStream as u64;
/// From this version on, unversioned names mean today's layout of device properties.
const TODAYS_PROPERTIES: c_int = 600;

/// The table's function with a name.
fn find(name: &CStr) -> Option<*mut c_void> {
    let table = table();
    let index = SYMBOLS.binary_search_by(|symbol| symbol.name.cmp(name)).ok()?;
    if !table.has(name.to_str().ok()?) {
        return None;
    }
    // SAFETY: each symbol's offset is that of a function pointer in the table.
    Some(unsafe { (&raw const *table).byte_add(SYMBOLS[index].offset).cast::<*mut c_void>().read() })
}

/// # Safety
/// `name` is null or NUL-terminated.
unsafe fn look_up(name: *const c_char, today: bool, per_thread: bool) -> Result<Option<*mut c_void>> {
    // SAFETY: as this function's contract.
    let name = unsafe { caller::text(name) }?;
    let name = match name.to_bytes() {
        b"" => return Err(hipError_t::hipErrorInvalidValue),
        b"hipGetDeviceProperties" if today => c"hipGetDevicePropertiesR0600",
        b"hipChooseDevice" if today => c"hipChooseDeviceR0600",
        _ => name,
    };
    if per_thread {
        let own = [name.to_bytes(), b"_spt\0"].concat();
        if let Some(found) = CStr::from_bytes_with_nul(&own).ok().and_then(find) {
            return Ok(Some(found));
        }
    }
    Ok(find(name))
}

/// `hipGetProcAddress`: a function that is not implemented counts as not found: `hipErrorInvalidValue`, as
/// with AMD's runtime.
pub(crate) unsafe extern "C" fn hipGetProcAddress(
    name: *const c_char,
    out: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut hipDriverProcAddressQueryResult,
) -> hipError_t {
    type Answer = hipDriverProcAddressQueryResult;
    entry(|| {
        // SAFETY: the caller passes null or a valid place.
        let out = unsafe { caller::place(out) }?;
        // SAFETY: the caller passes null or a NUL-terminated name.
        let found = unsafe { look_up(name, version >= TODAYS_PROPERTIES, flags & PER_THREAD != 0) }?;
        // SAFETY: the caller passes null, which requests nothing, or a valid place.
        if let Some(status) = unsafe { caller::optional_place(status) }? {
            *status = match found {
                Some(_) => Answer::HIP_GET_PROC_ADDRESS_SUCCESS,
                None => Answer::HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
            };
        }
        *out = found.unwrap_or(std::ptr::null_mut());
        found.map(drop).ok_or(hipError_t::hipErrorInvalidValue)
    })
}

/// # Safety
/// `name` is null or NUL-terminated, `out` and `status` are null or valid for writing.
unsafe fn entry_point(
    name: *const c_char,
    out: *mut *mut c_void,
    flags: u64,
    per_thread: bool,
    status: *mut hipDriverEntryPointQueryResult,
) -> Result {
    type Answer = hipDriverEntryPointQueryResult;
    if flags > PER_THREAD {
        return Err(hipError_t::hipErrorInvalidValue);
    }
    // SAFETY: as this function's contract.
    unsafe {
        let out = caller::place(out)?;
        let found = look_up(name, true, per_thread)?;
        if let Some(status) = caller::optional_place(status)? {
            *status = match found {
                Some(_) => Answer::hipDriverEntryPointSuccess,
                None => Answer::hipDriverEntryPointSymbolNotFound,
            };
        }
        *out = found.unwrap_or(std::ptr::null_mut());
        found.map(drop).ok_or(hipError_t::hipErrorInvalidValue)
    }
}

/// `hipGetDriverEntryPoint`: as [`hipGetProcAddress`].
pub(crate) unsafe extern "C" fn hipGetDriverEntryPoint(
    name: *const c_char,
    out: *mut *mut c_void,
    flags: c_ulonglong,
    status: *mut hipDriverEntryPointQueryResult,
) -> hipError_t {
    // SAFETY: the caller passes what the headers say.
    entry(|| unsafe { entry_point(name, out, flags, flags & PER_THREAD != 0, status) })
}

/// `hipGetDriverEntryPoint_spt`: prefers the variants of the thread's default stream.
pub(crate) unsafe extern "C" fn hipGetDriverEntryPoint_spt(
    name: *const c_char,
    out: *mut *mut c_void,
    flags: c_ulonglong,
    status: *mut hipDriverEntryPointQueryResult,
) -> hipError_t {
    // SAFETY: the caller passes what the headers say.
    entry(|| unsafe { entry_point(name, out, flags, true, status) })
}
