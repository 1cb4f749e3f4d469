//! Compiles the kernels and the host code that launches them: into two libraries, one with compressed code
//! objects.

use std::path::PathBuf;

use kernel_build::Builder;

/// The sources of the library with compressed code objects.
const NESTED: &str = "nested/*";
/// The sources whose device code is left out.
const LEFT_OUT: &str = "left_out/*";

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    Builder::new("kernels")
        .exclude(NESTED)
        .targets_for(LEFT_OUT, ["none"])
        .build_lib_or_exit(out.join("liblaunchers.a"));
    let nested = Builder::new("kernels").source(NESTED).offload_compress(true);
    nested.build_lib_or_exit(out.join("libnested.a"));
}
