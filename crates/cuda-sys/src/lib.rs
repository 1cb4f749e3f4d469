//! Raw bindings to NVIDIA's CUDA driver: generated types, and a function table that is filled at run time.
//!
//! [`bindings`] holds the types and constants of the headers of CUDA 12.0 to 13.5 in one, laid out and
//! numbered as the newest has them. [`Table`] has every function that any of them declares, by the name that
//! the driver exports it under: `cuMemAlloc_v2`, which the headers hide behind a macro `cuMemAlloc`. A name
//! stands for one list of arguments in every version; a function that takes others has another name. Nothing
//! is linked: [`Table::load`] opens `libcuda.so.1` when the program runs. A function that the driver lacks is
//! a stub that returns `CUDA_ERROR_NOT_SUPPORTED`, so that a call through the table has no branch;
//! [`Table::has`] tells.
//!
//! C enums are newtypes with associated constants, because a driver newer than the headers may return any
//! value.
//!
//! [`nvrtc`], [`cublas`] with [`cublas::lt`], [`nccl`] and [`nvml`] are the same for NVIDIA's run-time
//! compiler, linear algebra, collectives and management of GPUs.
//!
//! This crate makes nothing safe: each function's contract is the one in NVIDIA's documentation.
#![warn(missing_docs)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::NonNull;

use sys_load::Library;

/// The library folders of CUDA's toolkits on this machine: those that `CUDA_PATH` and `CUDA_HOME` name, that
/// of `/usr/local/cuda`, and all others there, newest first. Not each exists.
pub fn installations() -> Vec<PathBuf> {
    sys_load::Places::of_process().installed(sys_load::Stack::Cuda)
}

/// The generated parts of a library's module: types and constants, and the table of its functions.
macro_rules! generated {
    ($vendors:literal) => {
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
                            reason = "generated: names and layout tests are the headers' and bindgen's"
                        )]
                        pub mod bindings;
                        #[rustfmt::skip]
                        #[allow(
                            non_snake_case,
                            clippy::too_many_arguments,
                            clippy::type_complexity,
                            clippy::missing_safety_doc,
                            rustdoc::all,
                            reason = "generated: names and arguments are the headers'"
                        )]
                        mod table;

        #[doc = concat!("Functions that ", $vendors, " does not have: none.")]
        #[derive(Debug, Clone, Copy, Default)]
        pub struct Extensions {}

        impl Extensions {
            /// None of them.
            pub const NONE: Extensions = Extensions {};
        }
    };
}

generated!("NVIDIA's driver");

pub mod cublas;
pub mod nccl;
pub mod nvml;
pub mod nvrtc;

sys_load::table_api! {
    ///
    /// ```
    /// use cuda_sys::{Builder, CUresult, Table};
    ///
    /// unsafe extern "C" fn cuInit(_flags: u32) -> CUresult {
    ///     CUresult::CUDA_SUCCESS
    /// }
    ///
    /// let mut builder = Builder::new("example", "1.0");
    /// builder.cuInit(cuInit);
    /// // SAFETY: the one function given does what the headers say, as far as an example can.
    /// let table: &'static Table = unsafe { builder.finish() };
    /// assert!(table.has("cuInit") && !table.has("cuMemAlloc_v2"));
    /// ```
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "NVIDIA's CUDA driver",
    variable: "FERROCM_CUDA_LIBRARY",
    names: if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] },
    required: c"cuInit",
    stack: Alone,
    // The file's name has the version of the kernel's module.
    versioning: sys_load::Versioning::Ask(driver_version),
    unsupported: "returns `CUDA_ERROR_NOT_SUPPORTED`",
    bridge: ask_for_the_rest,
}

/// The newest version of CUDA that the driver knows. Needs neither a GPU nor `cuInit`.
fn driver_version(library: &Library) -> Option<Version> {
    let function = library.symbol(c"cuDriverGetVersion")?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> CUresult>(function)
    };
    let mut code = 0;
    // SAFETY: the function writes the one number.
    let status = unsafe { get(&mut code) };
    if status == CUresult::CUDA_SUCCESS { version_of_code(code) } else { None }
}

/// The version that CUDA writes as major * 1000 + minor * 10.
fn version_of_code(code: c_int) -> Option<Version> {
    let code = u32::try_from(code).ok().filter(|code| *code >= 1000)?;
    Some(Version::new(code / 1000, code % 1000 / 10, code % 10))
}

/// A function of the driver as `cuGetProcAddress_v2` knows it.
type GetProcAddress = unsafe extern "C" fn(
    *const c_char,
    *mut *mut c_void,
    c_int,
    cuuint64_t,
    *mut CUdriverProcAddressQueryResult,
) -> CUresult;

/// Asks `cuGetProcAddress_v2` for functions that the library exports under no name of the headers', as a
/// driver may that only hands them out. Names without a version only: such a function has the arguments that
/// the headers of the version which has brought it give it.
fn ask_for_the_rest(table: &mut Table, library: &Library) {
    let Some(get) = library.symbol(c"cuGetProcAddress_v2") else { return };
    // SAFETY: the symbol has this signature in every version.
    let get = unsafe { std::mem::transmute::<NonNull<c_void>, GetProcAddress>(get) };
    for symbol in &SYMBOLS {
        let Some(code) = first_version(symbol.versions) else { continue };
        if has_version(symbol.name) || library.symbol(symbol.name).is_some() {
            continue;
        }
        let Some(address) = ask(get, symbol.name, code) else { continue };
        // SAFETY: `SYMBOLS` has the offset of the function pointer of this name, and the driver says that
        // this is the function.
        unsafe { (&raw mut *table).byte_add(symbol.offset).cast::<NonNull<c_void>>().write(address) };
    }
}

/// The function that a version of CUDA knows by a name.
fn ask(get: GetProcAddress, name: &CStr, version: c_int) -> Option<NonNull<c_void>> {
    let name = CString::from(name);
    let mut address = std::ptr::null_mut();
    let mut found = CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
    // SAFETY: the name ends in a NUL, and both results are places to write to.
    let status = unsafe { get(name.as_ptr(), &raw mut address, version, 0, &raw mut found) };
    let address = NonNull::new(address)?;
    let is_found = found == CUdriverProcAddressQueryResult::CU_GET_PROC_ADDRESS_SUCCESS;
    (status == CUresult::CUDA_SUCCESS && is_found).then_some(address)
}

/// The code of the first version whose headers declare a symbol.
fn first_version(versions: u8) -> Option<c_int> {
    let text = VERSIONS.get(usize::try_from(versions.trailing_zeros()).ok()?)?;
    let (major, minor) = text.split_once('.')?;
    Some(major.parse::<c_int>().ok()? * 1000 + minor.parse::<c_int>().ok()? * 10)
}

/// Whether the name says which of several lists of arguments the function has: `cuMemAlloc_v2`.
fn has_version(name: &CStr) -> bool {
    let name = name.to_bytes();
    name.iter().rposition(|byte| *byte == b'_').is_some_and(|at| {
        matches!(&name[at + 1..], [b'v', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_digit))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_was_tried() {
        match Table::load() {
            Ok(table) => assert!(table.has("cuInit") && table.path().is_some()),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("NVIDIA's CUDA driver") && text.contains("FERROCM_CUDA_LIBRARY"),
                    "{text}"
                );
                assert!(text.contains("libcuda.so.1"), "{text}");
                assert!(!text.contains("rocm"), "NVIDIA's driver is not part of ROCm: {text}");
            }
        }
    }

    #[test]
    fn a_file_that_is_another_library_is_refused() {
        // SAFETY: the file is not loadable at all, so no initialiser runs.
        let error = unsafe { Table::load_from(Path::new("/dev/null")) }.unwrap_err();
        assert!(error.attempts[0].place.contains("/dev/null"));
    }

    #[test]
    fn stubs_report_not_supported_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("cuInit") && !table.has("no_such_function"));
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.cuInit)(0) };
        assert_eq!(status, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    }

    #[test]
    fn symbols_are_sorted_and_unique_and_of_all_versions() {
        let names: Vec<_> = Table::symbols().collect();
        assert!(names.len() > 400);
        assert!(names.windows(2).all(|pair| pair[0] < pair[1]));
        let versions =
            |name: &str| Table::unsupported().availability(name).unwrap().versions().collect::<Vec<_>>();
        assert_eq!(versions("cuFuncGetParamInfo"), ["12.4", "12.9", "13.0", "13.5"]);
        assert_eq!(versions("cuCtxCreate_v2"), ["12.0", "12.4", "12.9"]);
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version_of_code(12040), Some(Version::new(12, 4, 0)));
        assert_eq!(version_of_code(13000), Some(Version::new(13, 0, 0)));
        assert_eq!(version_of_code(-1), None);
        assert_eq!((first_version(0b11110), first_version(0)), (Some(12040), None));
        assert!(has_version(c"cuMemAlloc_v2") && !has_version(c"cuMemcpyHtoD") && !has_version(c"cu_v"));
    }

    #[test]
    fn unknown_values_print_their_number() {
        assert_eq!(format!("{:?}", CUresult(0)), "CUDA_SUCCESS");
        assert_eq!(format!("{:?}", CUresult(43981)), "cudaError_enum(43981)");
    }
}
