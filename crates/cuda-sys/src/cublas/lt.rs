//! cuBLASLt, the part of cuBLAS that has products with more choices: types, constants and its own function
//! table.
//!
//! [`Table::load`] opens `libcublasLt.so.13` or `.12`: the one that a loaded cuBLAS uses, if there is one.
//! cuBLASLt takes cuBLAS's handles, too.

use sys_load::Library;

generated!("cuBLASLt");

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "cuBLASLt",
    variable: "FERROCM_CUBLASLT_LIBRARY",
    names: if cfg!(windows) {
        &["cublasLt64_13.dll", "cublasLt64_12.dll"]
    } else {
        &["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"]
    },
    required: c"cublasLtMatmul",
    stack: Cuda,
    versioning: sys_load::Versioning::Ask(version),
    unsupported: "returns `CUBLAS_STATUS_NOT_SUPPORTED`",
}

/// The library's own version, which needs no handle and no GPU.
fn version(library: &Library) -> Option<Version> {
    super::version_by(library, c"cublasLtGetProperty")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_was_tried() {
        match Table::load() {
            Ok(table) => assert!(table.has("cublasLtMatmul") && table.version().is_some()),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("FERROCM_CUBLASLT_LIBRARY"), "{text}");
                assert!(!text.contains("rocm"), "cuBLASLt is not part of ROCm: {text}");
            }
        }
    }

    #[test]
    fn stubs_report_not_supported_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("cublasLtCreate"));
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.cublasLtCreate)(std::ptr::null_mut()) };
        assert_eq!(status, cublasStatus_t::CUBLAS_STATUS_NOT_SUPPORTED);
    }
}
