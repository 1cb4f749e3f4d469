//! NCCL, NVIDIA's collectives: types, constants and its own function table.
//!
//! [`Table::load`] opens `libnccl.so.2`, which needs no GPU and no driver.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use sys_load::Library;

generated!("NCCL");

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "NCCL",
    variable: "FERROCM_NCCL_LIBRARY",
    names: if cfg!(windows) { &["nccl.dll"] } else { &["libnccl.so.2", "libnccl.so"] },
    required: c"ncclCommInitRank",
    stack: Cuda,
    versioning: sys_load::Versioning::Ask(version),
    unsupported: "returns `ncclInternalError`: NCCL has no code for \"not supported\"",
}

/// The library's own version, a constant.
fn version(library: &Library) -> Option<Version> {
    let function = library.symbol(c"ncclGetVersion")?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> ncclResult_t>(function)
    };
    let mut code = 0;
    // SAFETY: the function writes the one number.
    let status = unsafe { get(&mut code) };
    if status == ncclResult_t::ncclSuccess { version_of_code(code) } else { None }
}

/// The version that NCCL writes as major * 10⁴ + minor * 100 + patch, up to 2.8 with 10³ for the major
/// version.
fn version_of_code(code: c_int) -> Option<Version> {
    let code = u32::try_from(code).ok().filter(|code| *code >= 1_000)?;
    let first = if code < 10_000 { 1_000 } else { 10_000 };
    Some(Version::new(code / first, code % first / 100, code % 100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_was_tried() {
        match Table::load() {
            Ok(table) => assert!(table.has("ncclAllReduce") && table.version().is_some()),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("FERROCM_NCCL_LIBRARY") && text.contains("libnccl.so.2"), "{text}");
                assert!(!text.contains("rocm"), "NCCL is not part of ROCm: {text}");
            }
        }
    }

    #[test]
    fn stubs_report_an_error_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("ncclGroupStart"));
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.ncclGroupStart)() };
        assert_eq!(status, ncclResult_t::ncclInternalError);
        let versions: Vec<_> = table.availability("ncclCommWindowRegister").unwrap().versions().collect();
        assert_eq!(versions, ["2.27.7", "2.32.3"]);
    }

    #[test]
    fn versions_are_read() {
        assert_eq!(version_of_code(22_707), Some(Version::new(2, 27, 7)));
        assert_eq!(version_of_code(2_804), Some(Version::new(2, 8, 4)));
        assert_eq!(version_of_code(-1), None);
    }
}
