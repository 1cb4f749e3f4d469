//! Compiles the kernels and the host code that launches them: into two libraries, one with compressed code
//! objects.

use std::path::PathBuf;

use kernel_build::Builder;

/// The sources of the library with compressed code objects.
const NESTED: &str = "nested/*";
/// The sources whose device code is left out.
const LEFT_OUT: &str = "left_out/*";

/// The source with a row for every function of CUDA's mathematics: compiled for one target only and with few
/// optimizations, which takes half of the time.
const FUNCTIONS: &str = "functions.cu";

fn main() {
    let targets = kernel_build::targets_from_env().unwrap_or_else(|error| panic!("{error}"));
    // The virtual GPU of the tests, where kernels are compiled for it.
    let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
    let target =
        names.iter().find(|name| *name == "gfx1100").or(names.first()).map_or("none", String::as_str);
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    Builder::new("kernels")
        .exclude(NESTED)
        .targets_for(LEFT_OUT, ["none"])
        .targets_for(FUNCTIONS, [target])
        .flag_for(FUNCTIONS, "-O1")
        .build_lib_or_exit(out.join("liblaunchers.a"));
    let nested = Builder::new("kernels").source(NESTED).offload_compress(true);
    nested.build_lib_or_exit(out.join("libnested.a"));
}
