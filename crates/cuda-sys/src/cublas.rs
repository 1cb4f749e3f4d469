//! cuBLAS, NVIDIA's linear algebra: types, constants and its own function table.
//!
//! [`Table::load`] opens `libcublas.so.13` or `.12`. A function has the name that the library exports it
//! under: `cublasSgemm_v2`, which the headers hide behind a macro `cublasSgemm`.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use sys_load::Library;

generated!("cuBLAS");

pub mod lt;

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "cuBLAS",
    variable: "FERROCM_CUBLAS_LIBRARY",
    names: if cfg!(windows) {
        &["cublas64_13.dll", "cublas64_12.dll"]
    } else {
        &["libcublas.so.13", "libcublas.so.12", "libcublas.so"]
    },
    required: c"cublasCreate_v2",
    stack: Cuda,
    versioning: sys_load::Versioning::Ask(version),
    unsupported: "returns `CUBLAS_STATUS_NOT_SUPPORTED`",
}

/// The library's own version, which needs no handle and no GPU.
fn version(library: &Library) -> Option<Version> {
    version_by(library, c"cublasGetProperty")
}

/// The version that a function tells in three parts.
fn version_by(library: &Library, name: &CStr) -> Option<Version> {
    let function = library.symbol(name)?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<
            NonNull<c_void>,
            unsafe extern "C" fn(libraryPropertyType_t, *mut c_int) -> cublasStatus_t,
        >(function)
    };
    let part = |which| {
        let mut value = 0;
        // SAFETY: the function writes the one number.
        let status = unsafe { get(which, &mut value) };
        if status == cublasStatus_t::CUBLAS_STATUS_SUCCESS { u32::try_from(value).ok() } else { None }
    };
    Some(Version::new(
        part(libraryPropertyType_t::MAJOR_VERSION)?,
        part(libraryPropertyType_t::MINOR_VERSION)?,
        part(libraryPropertyType_t::PATCH_LEVEL)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_was_tried() {
        match Table::load() {
            Ok(table) => assert!(table.has("cublasSgemm_v2") && table.version().is_some()),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("FERROCM_CUBLAS_LIBRARY"), "{text}");
                assert!(!text.contains("rocm"), "cuBLAS is not part of ROCm: {text}");
            }
        }
    }

    #[test]
    fn stubs_report_not_supported_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("cublasCreate_v2"));
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.cublasCreate_v2)(std::ptr::null_mut()) };
        assert_eq!(status, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);
    }
}
