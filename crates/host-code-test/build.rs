//! Compiles the kernels and the host code that launches them.

use std::path::PathBuf;

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    kernel_build::Builder::new("kernels").build_lib_or_exit(out.join("liblaunchers.a"));
}
