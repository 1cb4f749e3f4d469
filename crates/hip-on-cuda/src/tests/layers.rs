//! The order of the crate's modules.

/// The lowest first. Those of one row know each other.
const LAYERS: &[&[&str]] = &[&["error", "names"], &["runtime"], &["call", "symbols"], &["api"]];

#[test]
fn no_module_uses_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
