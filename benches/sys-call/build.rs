//! Builds a small library with the name and some functions of the HIP runtime, and links the benchmark to it.
//!
//! It never fails: the workspace builds on machines without a C compiler, and the benchmark says what is
//! missing.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=src/library.c");
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rustc-check-cfg=cfg(linked)");
    match library() {
        Ok(library) => {
            // Links the file itself. Cargo would pass a search path to every test of the workspace, and they
            // would use this library as the HIP runtime.
            println!("cargo::rustc-link-arg={}", library.display());
            println!(
                "cargo::rustc-link-arg=-Wl,-rpath,{}",
                library.parent().unwrap_or(Path::new("")).display()
            );
            println!("cargo::rustc-cfg=linked");
            println!("cargo::rustc-env=SYS_CALL_LIBRARY={}", library.display());
        }
        Err(reason) => println!("cargo::rustc-env=SYS_CALL_MISSING={}", reason.replace('\n', " ")),
    }
}

fn library() -> Result<PathBuf, String> {
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if system != "linux" {
        return Err(format!("its library is for Linux, not for {system}"));
    }
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let library = folder.join("libamdhip64.so.7");
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    let output = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O2", "-Wl,-soname,libamdhip64.so.7", "-o"])
        .arg(&library)
        .arg("src/library.c")
        .output()
        .map_err(|error| format!("no C compiler: {}: {error} (set CC to name one)", compiler.display()))?;
    if output.status.success() {
        Ok(library)
    } else {
        Err(format!("{} failed: {}", compiler.display(), String::from_utf8_lossy(&output.stderr)))
    }
}
