//! The order of the crate's modules.

/// Lowest first. Modules of one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["depfile", "diagnostics", "ir", "launches", "limits", "members", "pragmas", "ptx"],
    &["error", "rewrites"],
    &["files", "private"],
    &["cuda"],
    &["cache", "metrics", "overlay", "toolchain"],
    &["bodies", "nvcc", "reads", "retries", "typenames"],
    &["facts", "nvrtc"],
];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
