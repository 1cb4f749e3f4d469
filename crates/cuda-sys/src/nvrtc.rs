//! NVRTC, NVIDIA's run-time compiler: types, constants and its own function table.
//!
//! [`Table::load`] opens `libnvrtc.so.13` or `.12`, which need no GPU and no driver.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use sys_load::Library;

generated!("NVRTC");

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "NVIDIA's run-time compiler",
    variable: "FERROCM_NVRTC_LIBRARY",
    names: if cfg!(windows) {
        &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]
    } else {
        &["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]
    },
    required: c"nvrtcVersion",
    stack: Cuda,
    versioning: sys_load::Versioning::Ask(version),
    unsupported: "returns `NVRTC_ERROR_INTERNAL_ERROR`: NVRTC has no code for \"not supported\"",
}

/// The version of CUDA that the compiler belongs to.
fn version(library: &Library) -> Option<Version> {
    let function = library.symbol(c"nvrtcVersion")?;
    // SAFETY: the symbol has had this signature in every version.
    let get = unsafe {
        std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult>(
            function,
        )
    };
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the function writes the two numbers.
    let status = unsafe { get(&mut major, &mut minor) };
    if status != nvrtcResult::NVRTC_SUCCESS {
        return None;
    }
    Some(Version::new(u32::try_from(major).ok()?, u32::try_from(minor).ok()?, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_was_tried() {
        match Table::load() {
            Ok(table) => assert!(table.has("nvrtcVersion") && table.version().is_some()),
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("FERROCM_NVRTC_LIBRARY"), "{text}");
                assert!(!text.contains("rocm"), "NVRTC is not part of ROCm: {text}");
            }
        }
    }

    #[test]
    fn stubs_report_an_error_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("nvrtcVersion"));
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.nvrtcVersion)(std::ptr::null_mut(), std::ptr::null_mut()) };
        assert_eq!(status, nvrtcResult::NVRTC_ERROR_INTERNAL_ERROR);
        let versions: Vec<_> = table.availability("nvrtcGetPCHHeapSize").unwrap().versions().collect();
        assert_eq!(versions.first(), Some(&"12.9"));
    }
}
