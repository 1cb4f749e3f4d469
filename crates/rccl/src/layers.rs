//! The order of the crate's modules.

/// The lowest first. Modules of one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["element", "launcher"],
    &["error"],
    &["current", "table"],
    &["communicator"],
    &["operator", "launch"],
    &["group", "registered"],
];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
