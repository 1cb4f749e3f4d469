//! Compiles the device sources in `kernels`, for the modules that use them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let uses = |feature: &str| std::env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    if uses("CURAND") || uses("CUBLASLT") {
        // Build scripts run in their package's folder.
        kernel_build::Builder::new("kernels").types("::hip::code_object::embedded").embed_or_exit();
    }
}
