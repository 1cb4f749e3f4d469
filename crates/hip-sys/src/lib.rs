//! Raw bindings to AMD's HIP runtime: generated types, and a function table that is filled at run time.
//!
//! [`bindings`] merges the types and constants of the headers of ROCm 5.2 to 7.2, with the newest layouts and
//! values; [`legacy`] has the older forms. [`Table`] has every function that any of these headers declares.
//! Nothing is linked: [`Table::load`] opens the vendor's library at run time, and an implementation in the
//! process fills a table through [`Builder`]. Functions that the implementation lacks are stubs that return
//! `hipErrorNotSupported`, so calls through the table need no branch; [`Table::has`] tells the two apart.
//!
//! C enums are newtypes with associated constants, because a library newer than the headers may return any
//! value.
//!
//! This crate adds no safety: each function has the contract of the vendor's documentation.
#![warn(missing_docs)]

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use sys_load::Library;

pub use bindings::*;
pub use driver_calls::{DriverCalls, EncodeIm2col, EncodeIm2colWide, EncodeTiled};
pub use exported::{EXTENSIONS_SYMBOL, ExportedExtensions, GetExtensions};
pub use host_code::{HostCode, RegisterFunction, RegisterManagedVariable, RegisterVariable};
pub use sys_load::{Attempt, Availability, LoadError, Source, Version};
pub use table::{SYMBOLS, Table, VERSIONS};

#[rustfmt::skip]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    rustdoc::all,
    reason = "generated: names, comments and layout tests are the headers' and bindgen's"
)]
pub mod bindings;
#[rustfmt::skip]
#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    rustdoc::all,
    reason = "generated: names, comments and layout tests are the headers' and bindgen's"
)]
pub mod legacy;
#[rustfmt::skip]
#[allow(
    non_snake_case,
    clippy::too_many_arguments,
    clippy::doc_lazy_continuation,
    clippy::doc_overindented_list_items,
    clippy::type_complexity,
    clippy::missing_safety_doc,
    rustdoc::all,
    reason = "generated: names, arguments and comments are the headers'"
)]
mod table;
mod bridge;
mod driver_calls;
mod exported;
mod host_code;
pub mod rtc;

/// Functions that AMD's headers lack and this project's implementations may offer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {
    /// Copies the report of a stream's fault into a buffer, NUL-terminated and truncated to its size. Returns
    /// the report's full length in bytes without the NUL, or 0 if the stream has not faulted.
    pub stream_fault_report: Option<unsafe extern "C" fn(hipStream_t, *mut std::ffi::c_char, usize) -> usize>,
    /// The same for the fault as data: JSON of `gpu_report::Fault`. Also returns 0 if the stream failed for
    /// another reason.
    pub stream_fault_json: Option<unsafe extern "C" fn(hipStream_t, *mut std::ffi::c_char, usize) -> usize>,
    /// Copies a text about a failed launch of compiled host code, `kernel<<<…>>>(…)`, which returns no result
    /// itself. The text is about the launch whose failure the calling thread's last call returned; it is
    /// copied in the way of `stream_fault_report`. Returns 0 if that call succeeded or failed by itself.
    pub launch_failure: Option<unsafe extern "C" fn(*mut std::ffi::c_char, usize) -> usize>,
    /// Turns counters on or off for kernels that begin on a stream from now on. Returns
    /// `hipErrorNotSupported` if the device has none.
    pub stream_set_counters: Option<unsafe extern "C" fn(hipStream_t, bool) -> hipError_t>,
    /// Copies the counters of the stream's kernels that have ended since the last call, oldest first, as a
    /// JSON array of `gpu_report::Counters`, in the way of `stream_fault_report`. Counters that were copied
    /// completely are dropped.
    pub stream_take_counters:
        Option<unsafe extern "C" fn(hipStream_t, *mut std::ffi::c_char, usize) -> usize>,
    /// Passes text that device code prints to a function from now on, together with the given pointer.
    /// Without a function, text goes to the process's standard output and standard error again. Text printed
    /// earlier has been delivered when this returns.
    pub device_output: Option<unsafe extern "C" fn(Option<DeviceOutput>, *mut std::ffi::c_void)>,
    /// Allows or forbids device code to call a function of the program (`__ockl_call_host_function`). All
    /// functions are forbidden at first, whatever address device code uses. Kernels choose the arguments, so
    /// the function must be sound for any words. When a withdrawal returns, no call of the function is
    /// running. The function itself must not use this.
    pub device_function: Option<unsafe extern "C" fn(DeviceFunction, bool)>,
    /// Sets whether functions called by this thread from now on wait for the device before they release
    /// memory, mappings, code or graphs (`hipFree`, `hipHostFree`, `hipHostUnregister`, `hipMemUnmap`,
    /// `hipIpcCloseMemHandle`, `hipModuleUnload`, `hipGraphDestroy`, `hipGraphExecDestroy`). AMD's functions
    /// wait, and so does every thread at first. Returns the previous setting. With false, the caller
    /// guarantees that nothing uses what it releases.
    pub set_release_waits: Option<unsafe extern "C" fn(bool) -> bool>,
    /// The functions with which compiled host code registers kernels and variables. AMD's libraries have
    /// them, too.
    pub host_code: Option<HostCode>,
    /// Whether the device with this ordinal detects every access outside an allocation. Allocations should
    /// then not be subdivided.
    pub has_exact_bounds: Option<unsafe extern "C" fn(c_int) -> bool>,
    /// Tells the library not to print reports of faults, because the program reads and shows them itself.
    pub leave_reports: Option<unsafe extern "C" fn()>,
    /// Makes virtual GPUs in the library, for programs without their own.
    pub open_virtual: Option<OpenVirtual>,
    /// Tells of modules that are not AMD's code objects. Where it is there, modules are none of these.
    pub driver_code: Option<DriverCode>,
    /// What NVIDIA's driver does and HIP has no functions for.
    pub driver_calls: Option<DriverCalls>,
    /// Whether the implementation writes its calls to the timeline (`FERROCM_TRACE`) of this copy of it.
    pub records_calls: bool,
}

/// What a driver tells of the code that it loads, where the code itself is not read: NVIDIA's cubins, fatbins
/// and PTX.
#[derive(Debug, Clone, Copy)]
pub struct DriverCode {
    /// Copies the names of a module's kernels, one a line, into a buffer, NUL-terminated and cut to its size,
    /// and returns their full length in bytes without the NUL; 0 where the driver does not tell.
    pub kernels: unsafe extern "C" fn(hipModule_t, *mut std::ffi::c_char, usize) -> usize,
    /// Writes where a kernel's parameter of an index lies in the argument segment, and how many bytes it has.
    /// `hipErrorInvalidValue` for an index beyond the last, `hipErrorNotSupported` where the driver does not
    /// tell.
    pub parameter: unsafe extern "C" fn(hipFunction_t, usize, *mut usize, *mut usize) -> hipError_t,
    /// Copies what the driver's compiler has said of the module that the thread has failed to load last, as
    /// `kernels` does.
    pub load_failure: unsafe extern "C" fn(*mut std::ffi::c_char, usize) -> usize,
    /// Whether the module says of its kernel of this name, which ends in a NUL, that it waits itself for the
    /// kernel in front of it, and the driver can launch it before that one has ended.
    pub overlaps: unsafe extern "C" fn(hipModule_t, *const std::ffi::c_char) -> bool,
    /// Launches such a kernel, as `hipModuleLaunchKernel` does with a list of arguments.
    pub launch_overlapping: LaunchOverlapping,
}

/// The function, three sizes of the grid, three of a block, bytes of LDS, the stream and the arguments.
pub type LaunchOverlapping = unsafe extern "C" fn(
    hipFunction_t,
    std::ffi::c_uint,
    std::ffi::c_uint,
    std::ffi::c_uint,
    std::ffi::c_uint,
    std::ffi::c_uint,
    std::ffi::c_uint,
    std::ffi::c_uint,
    hipStream_t,
    *mut *mut std::ffi::c_void,
) -> hipError_t;

/// Makes the virtual GPUs that a device URI names (`vgpu:gfx90a?count=2`), unless the library has made equal
/// ones. Writes the ordinal of the first one and their number. The text, NUL-terminated and truncated to its
/// size, is the URI of each with all its parameters; if the result is false, it is the reason. This may be
/// the first call of the library. Its devices are then these, whatever the environment says.
pub type OpenVirtual = unsafe extern "C" fn(
    uri: *const std::ffi::c_char,
    first: *mut c_int,
    count: *mut c_int,
    text: *mut std::ffi::c_char,
    size: usize,
) -> bool;

/// A function that device code calls. It gets a place for two result words, and seven argument words.
pub type DeviceFunction = unsafe extern "C" fn(output: *mut u64, input: *const u64);

/// Receives text that device code prints. The arguments are the pointer that was set with the function, 1 for
/// standard output or 2 for standard error, the bytes, which need not end in a NUL, and their number. It may
/// be called from any thread, one call at a time, and must not call HIP.
pub type DeviceOutput =
    unsafe extern "C" fn(*mut std::ffi::c_void, std::ffi::c_int, *const std::ffi::c_char, usize);

impl Extensions {
    /// No extensions.
    pub const NONE: Extensions = Extensions {
        stream_fault_report: None,
        stream_fault_json: None,
        launch_failure: None,
        stream_set_counters: None,
        stream_take_counters: None,
        device_output: None,
        device_function: None,
        set_release_waits: None,
        host_code: None,
        has_exact_bounds: None,
        leave_reports: None,
        open_virtual: None,
        driver_code: None,
        driver_calls: None,
        records_calls: false,
    };
}

sys_load::table_api! {
    ///
    /// ```
    /// use hip_sys::{Builder, Table, hipError_t};
    ///
    /// unsafe extern "C" fn hipInit(_flags: u32) -> hipError_t {
    ///     hipError_t::hipSuccess
    /// }
    ///
    /// let mut builder = Builder::new("example", "1.0");
    /// builder.hipInit(hipInit);
    /// // SAFETY: the one function given does what the headers say, as far as an example can.
    /// let table: &'static Table = unsafe { builder.finish() };
    /// assert!(table.has("hipInit"));
    /// assert_eq!(table.implementation(), Some("example"));
    /// ```
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "the HIP runtime",
    variable: "FERROCM_HIP_LIBRARY",
    names: if cfg!(windows) {
        &["amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"]
    } else {
        &["libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"]
    },
    required: c"hipInit",
    stack: Rocm,
    versioning: sys_load::Versioning::FileName { otherwise: Some(runtime_version) },
    unsupported: "returns `hipErrorNotSupported`",
    bridge: bridge::apply,
}

impl Table {
    /// The release of AMD's library, if this table is from AMD's library and its version is known. `None` for
    /// implementations in the process, and for this project's own libraries, which have [`Extensions`] that
    /// AMD's lack.
    pub fn amd_release(&self) -> Option<Version> {
        self.version().filter(|_| !self.ext.are_own())
    }
}

/// Asks the HIP runtime for its version, on which the layout of structures depends. This initialises the
/// runtime, GPU or not, so it is done only if the file name does not contain the version.
fn runtime_version(library: &Library) -> Option<Version> {
    // SAFETY: the library is a HIP runtime, and no other one has a function of the extensions' name.
    if let Some(own) = unsafe { ExportedExtensions::of_library(|name| library.symbol(name)) } {
        return version_of_code(c_int::try_from(own.runtime_version).ok()?);
    }
    let function = library.symbol(c"hipRuntimeGetVersion")?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> hipError_t>(function)
    };
    let mut code = 0;
    // SAFETY: the function writes the one number.
    let status = unsafe { get(&mut code) };
    if status == hipError_t::hipSuccess { version_of_code(code) } else { None }
}

/// The version that HIP writes as major * 10⁷ + minor * 10⁵ + patch.
fn version_of_code(code: c_int) -> Option<Version> {
    let code = u32::try_from(code).ok().filter(|code| *code >= 10_000_000)?;
    Some(Version::new(code / 10_000_000, code / 100_000 % 100, code % 100_000))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sys_load::{Functions as _, Library, Search};

    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn a_missing_library_is_an_error_that_lists_every_attempt() {
        let search = Search { names: &["libferrocm-no-such.so.1"], ..Table::SEARCH };
        // SAFETY: no library has the name, so none is opened.
        let error = unsafe { Library::find(&search) }.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("the HIP runtime") && text.contains("FERROCM_HIP_LIBRARY"), "{text}");
        assert!(text.contains("libferrocm-no-such.so.1") && text.contains("/opt/rocm/lib"), "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn loading_never_panics_and_says_what_it_has() {
        match Table::load() {
            Ok(table) => assert!(table.has("hipInit") && table.path().is_some()),
            Err(error) => assert!(!error.attempts.is_empty()),
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn a_file_that_is_another_library_is_refused() {
        // SAFETY: the file is not loadable at all, so no initialiser runs.
        let error = unsafe { Table::load_from(Path::new("/dev/null")) }.unwrap_err();
        assert_eq!(error.attempts.len(), 1);
        assert!(error.attempts[0].place.contains("/dev/null"));
    }

    #[test]
    fn stubs_report_not_supported_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("hipInit") && !table.has("no_such_function"));
        assert!(table.path().is_none() && table.implementation().is_none());
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.hipInit)(0) };
        assert_eq!(status, hipError_t::hipErrorNotSupported);
    }

    #[test]
    fn symbols_are_sorted_and_unique() {
        let names: Vec<_> = Table::symbols().collect();
        assert!(names.len() > 200);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn unknown_values_print_their_number() {
        assert_eq!(format!("{:?}", hipError_t(0)), "hipSuccess");
        assert_eq!(format!("{:?}", hipError_t(801)), "hipErrorNotSupported");
        assert_eq!(format!("{:?}", hipError_t(43981)), "hipError_t(43981)");
    }

    #[test]
    fn device_properties_have_the_size_of_hip_6_and_7() {
        assert_eq!(size_of::<hipDeviceProp_tR0600>(), 1472);
    }

    #[test]
    fn version_numbers_are_decoded() {
        assert_eq!(version_of_code(50_221_153), Some(Version::new(5, 2, 21153)));
        assert_eq!(version_of_code(70_253_211), Some(Version::new(7, 2, 53211)));
        assert_eq!(version_of_code(403), None);
        assert_eq!(version_of_code(-1), None);
    }
}
