//! Checks the direction in which a crate's modules, and this workspace's crates, use each other.
//!
//! A crate has a table of layers, lowest first, and a test that calls [`check_modules`] with it:
//! ```ignore
//! const LAYERS: &[&[&str]] = &[&["error"], &["memory"], &["graph", "stream"]];
//!
//! #[test]
//! fn no_module_uses_a_higher_one() {
//!     layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
//! }
//! ```
//! Lower modules use nothing from higher ones; modules of one row may use each other. Names are resolved to
//! the defining module, through `use`, `pub use` and `super`. Documentation, test code and method calls,
//! which name no module, do not count.
#![forbid(unsafe_code)]

mod crates;
mod layers;
mod modules;

pub use crates::{CRATES, Manifests};
pub use layers::Layers;
pub use modules::Modules;

/// Checks the modules of the crate in a folder (`CARGO_MANIFEST_DIR`) against its table.
///
/// # Panics
/// Lists every use of a higher module, modules missing in the table, and rows without a module.
pub fn check_modules(folder: &str, layers: &[&[&str]]) {
    let wrong = Modules::of_crate(folder.as_ref()).wrong(&Layers::new(layers));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
