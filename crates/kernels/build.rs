//! Compiles the device sources in the workspace's `kernels/` folder and embeds the result.
//!
//! `cargo xtask build-kernels` makes the same calls, so that everything is in the cache after it. The published package has the code
//! in `prebuilt` in the place of the sources.

fn main() {
    // Build scripts run in their package's folder.
    // Those of BLAS are another crate's.
    kernel_build::Builder::new("../../kernels").exclude("blas/**").embed_prebuilt_or_exit("prebuilt");
}
