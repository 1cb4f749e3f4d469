//! NVML, the management of NVIDIA's GPUs, which is part of the driver: types, constants and its own function
//! table.
//!
//! [`Table::load`] opens `libnvidia-ml.so.1`. As with the driver, each form of a function has a name of its
//! own: `nvmlInit_v2`, which the header hides behind a macro `nvmlInit`.

use sys_load::Library;

generated!("NVML");

sys_load::table_api! {
    builder;
    // SAFETY: `cargo xtask bindgen` makes the table from the vendor's headers, and the names are those of the
    // vendor's files.
    unsafe library: "NVML",
    variable: "FERROCM_NVML_LIBRARY",
    names: if cfg!(windows) { &["nvml.dll"] } else { &["libnvidia-ml.so.1", "libnvidia-ml.so"] },
    required: c"nvmlInit_v2",
    stack: Alone,
    // It tells its version only after it was started.
    versioning: sys_load::Versioning::Ask(version),
    unsupported: "returns `NVML_ERROR_FUNCTION_NOT_FOUND`",
}

/// Not known before the library is started.
fn version(_: &Library) -> Option<Version> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loading_never_panics_and_says_what_was_tried() {
        match Table::load() {
            Ok(table) => assert!(table.has("nvmlInit_v2") && table.path().is_some()),
            Err(error) => {
                let text = error.to_string();
                assert!(
                    text.contains("FERROCM_NVML_LIBRARY") && text.contains("libnvidia-ml.so.1"),
                    "{text}"
                );
                assert!(!text.contains("rocm"), "NVML is not part of ROCm: {text}");
            }
        }
    }

    #[test]
    fn stubs_report_not_supported_and_are_not_had() {
        let table = Table::unsupported();
        assert!(!table.has("nvmlInit_v2") && table.availability("nvmlDeviceGetPowerUsage").is_some());
        // SAFETY: a stub reads none of its arguments.
        let status = unsafe { (table.nvmlInit_v2)() };
        assert_eq!(status, nvmlReturn_t::NVML_ERROR_FUNCTION_NOT_FOUND);
    }
}
