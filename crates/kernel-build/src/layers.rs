//! The order of the crate's modules.

/// Lowest first. Modules of one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["cuda_arch", "jobs", "missing", "occupancy"],
    &["target"],
    &["error"],
    &["features", "glob", "nvcc"],
    &["select"],
    &["discover", "targets", "translate"],
    &["build", "inputs"],
    &["bundle", "report"],
    &["compile", "prefix"],
    &["nvidia"],
    &["builder"],
    &["embed"],
    &["library", "prebuilt"],
];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
