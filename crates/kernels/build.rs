//! Compiles the device sources in the workspace's `kernels/` folder and embeds the result.
//!
//! `cargo xtask build-kernels` makes the same calls for AMD GPUs, so afterwards their code is in the cache.
//! The published package contains the compiled code in `prebuilt` instead of the sources, and
//! `kernels-nvidia` that for NVIDIA GPUs.

use kernel_build::{Builder, Nvidia};

/// The oldest architecture with bf16, and those with matrix units of their own. PTX of the first and of the
/// last runs on all later ones.
const NVIDIA: [&str; 3] = ["sm_80", "sm_90a", "sm_100"];

fn main() {
    // Build scripts run in their package's folder. Another crate compiles the BLAS sources.
    let builder = Builder::new("../../kernels").exclude("blas/**");
    let nvidia = Nvidia::ptx_and_cubin().default_archs(NVIDIA).compress(true);
    let builder = builder.nvidia_on_request("nvidia", nvidia.if_nvcc_is_found());
    #[cfg(feature = "nvidia")]
    let builder = builder.prebuilt_nvidia(kernels_nvidia::PREBUILT);
    builder.embed_prebuilt_or_exit("prebuilt");
}
