//! Compiles the device sources in the workspace's `kernels/` folder and embeds the result.
//!
//! `cargo xtask build-kernels` makes the same calls, so that everything is in the cache after it.

use std::path::Path;

fn main() {
    // Build scripts run in their package's folder.
    let sources = Path::new("../../kernels");
    kernel_build::Builder::new(sources).include(sources.join("hip")).embed_or_exit();
}
