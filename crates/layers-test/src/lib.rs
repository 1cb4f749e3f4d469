//! In which direction the modules of a crate use each other, and the crates of this workspace.
//!
//! A crate has a table of layers, the lowest first, and a test that calls [`check_modules`] with it:
//! ```ignore
//! const LAYERS: &[&[&str]] = &[&["error"], &["memory"], &["graph", "stream"]];
//!
//! #[test]
//! fn no_module_uses_a_higher_one() {
//!     layers_test::check_modules(env!("CARGO_MANIFEST_DIR"), LAYERS);
//! }
//! ```
//! What stands lower uses nothing of what stands higher; modules of one row may use each other. A name is followed to the module that
//! defines it, through `use`, `pub use` and `super`. Documentation and what is only built for tests do not count, nor do calls of methods,
//! which name no module.
#![forbid(unsafe_code)]

mod crates;
mod layers;
mod modules;

pub use crates::{CRATES, Manifests};
pub use layers::Layers;
pub use modules::Modules;

/// Checks the modules of the crate in a folder (`CARGO_MANIFEST_DIR`) by its table.
///
/// # Panics
/// With every use of a higher module, and with modules and rows that the other does not have.
pub fn check_modules(folder: &str, layers: &[&[&str]]) {
    let wrong = Modules::of_crate(folder.as_ref()).wrong(&Layers::new(layers));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
