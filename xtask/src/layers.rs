//! The order of the program's modules.

/// Lowest first. Modules of one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["comments", "conflicts", "device_tests", "tools"],
    &["build_kernels", "cudarc", "hipify", "registry", "test_devices"],
    &["demo", "dropin", "engines", "tune"],
    &["hip_python", "hipcc", "package", "package_tests", "rocm"],
    &["bindgen", "dependencies", "images", "rocm_run"],
    &["ci", "doctor"],
    &["test"],
    &["bench"],
];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
