//! Compiles the device sources in the workspace's `kernels/` folder and embeds the result.
//!
//! `cargo xtask build-kernels` makes the same calls, so afterwards everything is in the cache. The published
//! package contains the compiled code in `prebuilt` instead of the sources.

fn main() {
    // Build scripts run in their package's folder. Another crate compiles the BLAS sources.
    kernel_build::Builder::new("../../kernels").exclude("blas/**").embed_prebuilt_or_exit("prebuilt");
}
