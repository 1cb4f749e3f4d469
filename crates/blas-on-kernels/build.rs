//! Compiles the device sources in the workspace's `kernels/blas` folder, and generates the functions of the
//! table from `functions.txt`. The published package contains the compiled code in `prebuilt` instead of the
//! sources.

#[path = "build/entries.rs"]
mod entries;

fn main() {
    // Build scripts run in their package's folder. `cargo xtask build-kernels` names the same folder, so its
    // code is in the cache.
    let builder =
        kernel_build::Builder::new("../../kernels").source("blas/**").types("::code_object::embedded");
    builder.embed_prebuilt_or_exit("prebuilt");
    let text = std::fs::read_to_string(entries::FUNCTIONS).unwrap_or_else(|error| fail(&error.to_string()));
    println!("cargo::rerun-if-changed={}", entries::FUNCTIONS);
    println!("cargo::rerun-if-changed=build");
    let code = entries::write(&text).unwrap_or_else(|problem| fail(&problem));
    let out = std::env::var_os("OUT_DIR").unwrap_or_else(|| fail("Cargo sets OUT_DIR"));
    if let Err(error) = std::fs::write(std::path::Path::new(&out).join("entries.rs"), code) {
        fail(&error.to_string());
    }
}

fn fail(problem: &str) -> ! {
    println!("cargo::error={}: {problem}", entries::FUNCTIONS);
    std::process::exit(1)
}
