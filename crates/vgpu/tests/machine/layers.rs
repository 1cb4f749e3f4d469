//! The layering of the crate's modules.

/// Lowest first. Modules in the same row may use each other.
const LAYERS: &[&[&str]] = &[&["config"], &["machine"], &["environment", "identity"], &["hsa"]];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
