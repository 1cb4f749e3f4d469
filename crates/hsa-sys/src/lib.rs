//! Raw bindings to AMD's HSA runtime: generated types, and a function table that is filled at run time.
//!
//! [`bindings`] merges the types and constants of the headers of ROCm 5.2 to 7.2, with the newest layouts and
//! values; [`legacy`] has the older forms. [`Table`] has every function that any of these headers declares.
//! Nothing is linked: [`Table::load`] opens the vendor's library at run time, and an implementation in the
//! process fills a table through [`Builder`]. Functions that the implementation lacks are stubs that return
//! `HSA_STATUS_ERROR_NOT_SUPPORTED`, so calls through the table need no branch; [`Table::has`] tells the two
//! apart.
//!
//! C enums are newtypes with associated constants, because a library newer than the headers may return any
//! value.
//!
//! This crate adds no safety: each function has the contract of the vendor's documentation.
#![warn(missing_docs)]

pub use bindings::*;
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

/// The number of kernels of a queue whose counters are kept. Older ones are lost.
pub const COUNTED_DISPATCHES: usize = 1024;

/// Functions that AMD's HSA lacks and this project's implementations may offer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extensions {
    /// Copies the report of the fault that made a queue inactive into a buffer, NUL-terminated and truncated
    /// to its size. Returns the report's full length in bytes without the NUL, or 0 if the queue has not
    /// faulted.
    pub queue_fault_report:
        Option<unsafe extern "C" fn(*const hsa_queue_t, *mut std::ffi::c_char, usize) -> usize>,
    /// The same for the fault as data: JSON of `gpu_report::Fault`. Also returns 0 if the queue ended for
    /// another reason.
    pub queue_fault_json:
        Option<unsafe extern "C" fn(*const hsa_queue_t, *mut std::ffi::c_char, usize) -> usize>,
    /// Turns counters on or off for kernels that begin on a queue from now on. The last
    /// [`COUNTED_DISPATCHES`] are kept.
    pub queue_set_counters: Option<unsafe extern "C" fn(*const hsa_queue_t, bool) -> hsa_status_t>,
    /// Copies the counters of the kernels that have ended since the last call, oldest first, as a JSON array
    /// of `gpu_report::Counters`, in the way of `queue_fault_report`. Each object also has `packet`, the number
    /// of the kernel's packet in the queue. Counters that were copied completely are dropped.
    pub queue_take_counters:
        Option<unsafe extern "C" fn(*const hsa_queue_t, *mut std::ffi::c_char, usize) -> usize>,
    /// Makes a queue's structure and packets read-only for kernels, which HSA allows to write them. This is
    /// for a queue that only the host submits to: a kernel that writes there faults, instead of leaving the
    /// host waiting for a lost packet.
    pub queue_guard: Option<unsafe extern "C" fn(*const hsa_queue_t) -> hsa_status_t>,
    /// The number of the packet that a queue waits for: all earlier packets have completed, and this one has
    /// not been written. `u64::MAX` while the queue works, or after it has ended. Waiting for an earlier
    /// packet, or for this one after writing it, is then in vain.
    pub queue_missing_packet: Option<unsafe extern "C" fn(*const hsa_queue_t) -> u64>,
    /// Like `hsa_signal_create`, for a signal that kernels can only read. The host and packets change it.
    pub signal_create_guarded: Option<unsafe extern "C" fn(i64, *mut hsa_signal_t) -> hsa_status_t>,
    /// Whether the host may access memory. False for freed or merely reserved memory. Memory that the
    /// implementation does not know is the program's own, so true.
    pub host_can_access: Option<unsafe extern "C" fn(*const std::ffi::c_void, usize) -> bool>,
    /// Reports that the host itself has written memory of a device, for checks that look for reads of
    /// uninitialised memory. Writes by functions of HSA need no report.
    pub host_wrote: Option<unsafe extern "C" fn(*const std::ffi::c_void, usize)>,
    /// Like `hsa_amd_interop_map_buffer`, for the first bytes of the object behind a file descriptor. Kernels
    /// can access these bytes and no more, and the host can access them as well.
    /// `hsa_amd_interop_unmap_buffer` undoes it.
    pub map_descriptor: Option<
        unsafe extern "C" fn(hsa_agent_t, std::ffi::c_int, usize, *mut *mut std::ffi::c_void) -> hsa_status_t,
    >,
    /// Barriers of global wave sync (`ds_gws_barrier`) work in every kernel without initialisation.
    pub global_wave_sync: bool,
    /// Kernels fault on every access outside an allocation, however close.
    pub exact_bounds: bool,
}

impl Extensions {
    /// No extensions.
    pub const NONE: Extensions = Extensions {
        queue_fault_report: None,
        queue_fault_json: None,
        queue_set_counters: None,
        queue_take_counters: None,
        queue_guard: None,
        queue_missing_packet: None,
        signal_create_guarded: None,
        host_can_access: None,
        host_wrote: None,
        map_descriptor: None,
        global_wave_sync: false,
        exact_bounds: false,
    };
}

sys_load::table_api! {
    ///
    /// ```
    /// use hsa_sys::{Builder, Table, hsa_status_t};
    ///
    /// unsafe extern "C" fn hsa_init() -> hsa_status_t {
    ///     hsa_status_t::HSA_STATUS_SUCCESS
    /// }
    ///
    /// let mut builder = Builder::new("example", "1.0");
    /// builder.hsa_init(hsa_init);
    /// // SAFETY: the one function given does what the headers say, as far as an example can.
    /// let table: &'static Table = unsafe { builder.finish() };
    /// assert!(table.has("hsa_init"));
    /// assert_eq!(table.implementation(), Some("example"));
    /// ```
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "the HSA runtime",
    variable: "FERROCM_HSA_LIBRARY",
    names: if cfg!(windows) {
        &["hsa-runtime64.dll"]
    } else {
        &["libhsa-runtime64.so.1", "libhsa-runtime64.so"]
    },
    required: c"hsa_init",
    stack: Rocm,
    // Every query needs an initialised runtime, and so a GPU.
    versioning: sys_load::Versioning::FileName { otherwise: None },
    unsupported: "returns `HSA_STATUS_ERROR_NOT_SUPPORTED`",
    bridge: bridge::apply,
}

impl From<hsa_amd_agent_info_t> for hsa_agent_info_t {
    fn from(attribute: hsa_amd_agent_info_t) -> Self {
        Self(attribute.0)
    }
}

impl From<hsa_amd_agent_memory_pool_info_t> for hsa_agent_info_t {
    fn from(attribute: hsa_amd_agent_memory_pool_info_t) -> Self {
        Self(attribute.0)
    }
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
        assert!(text.contains("the HSA runtime") && text.contains("FERROCM_HSA_LIBRARY"), "{text}");
        assert!(text.contains("libferrocm-no-such.so.1") && text.contains("/opt/rocm/lib"), "{text}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri cannot open libraries")]
    fn loading_never_panics_and_says_what_it_has() {
        match Table::load() {
            Ok(table) => assert!(table.has("hsa_init") && table.path().is_some()),
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
        assert!(!table.has("hsa_init") && !table.has("no_such_function"));
        assert!(table.path().is_none() && table.implementation().is_none());
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.hsa_init)() };
        assert_eq!(status, hsa_status_t::HSA_STATUS_ERROR_NOT_SUPPORTED);
    }

    #[test]
    fn symbols_are_sorted_and_unique() {
        let names: Vec<_> = Table::symbols().collect();
        assert!(names.len() > 200);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn unknown_values_print_their_number() {
        assert_eq!(format!("{:?}", hsa_status_t(0)), "HSA_STATUS_SUCCESS");
        assert_eq!(format!("{:?}", hsa_status_t(47)), "HSA_STATUS_ERROR_NOT_SUPPORTED");
        assert_eq!(format!("{:?}", hsa_status_t(0xabcd)), "hsa_status_t(43981)");
    }

    #[test]
    fn packets_and_signals_are_one_cache_line() {
        assert_eq!(size_of::<hsa_kernel_dispatch_packet_t>(), 64);
        assert_eq!(size_of::<hsa_barrier_and_packet_t>(), 64);
        assert_eq!(size_of::<amd_signal_t>(), 64);
        assert_eq!(size_of::<amd_queue_t>() % 64, 0);
    }
}
