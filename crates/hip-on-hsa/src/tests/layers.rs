//! The order of the crate's folders: lower modules never use higher ones.

/// Files and folders of `src`, the lowest first. Those of one row may use each other.
const LAYERS: &[&[&str]] = &[
    &["error", "caller", "output", "patience", "registry", "release", "start", "unseen", "visible"],
    &["runtime"],
    &["gpu"],
    &["queue"],
    &["devices"],
    &["memory"],
    &["object"],
    &["graph"],
    &["api"],
];

#[test]
fn no_layer_knows_a_higher_one() {
    layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
}
