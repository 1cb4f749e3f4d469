//! Compiles the device sources in `kernels`, for the modules that use them.

use kernel_build::{Builder, Nvidia};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let uses = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    if uses("CURAND") || uses("CUBLASLT") {
        // Build scripts run in their package's folder.
        // No feature of cudarc's asks for NVIDIA's code, so only the variable does.
        let nvidia = Nvidia::ptx_and_cubin().if_nvcc_is_found();
        let builder = Builder::new("kernels").types("::hip::code_object::embedded");
        builder.nvidia_if_named(nvidia).embed_or_exit();
    }
}
