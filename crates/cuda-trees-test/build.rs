//! Compiles the trees like the build scripts of their owners, with nvcc's options.

use std::path::PathBuf;

use kernel_build::Builder;

/// Waves of 32 lanes and of 64.
const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo sets it"));
    let mut trainer = Builder::new("trainer/src").include("trainer/include").targets(TARGETS);
    for flag in ["-O3", "-t0", "--use_fast_math", "-std=c++17", "-arch=sm_80", "-Xcompiler", "-fPIC"] {
        trainer = trainer.flag(flag);
    }
    trainer.build_lib_or_exit(out.join("libtrainer.a"));

    let mut ops = Builder::new("ops").targets(TARGETS).output("ops.rs");
    for flag in ["--expt-relaxed-constexpr", "--expt-extended-lambda", "-gencode=arch=compute_80,code=sm_80"]
    {
        ops = ops.flag(flag);
    }
    ops.flag("-std=c++17")
        .flag_for("reduce/thrust_scan.cu", "--std=c++20")
        .flag_for("matmul/*.cu", "-Xptxas=-v")
        .flag_for("unity.cu", "--fmad=false")
        .embed_or_exit();

    Builder::new("headers").targets(TARGETS).output("headers.rs").flag("-std=c++17").embed_or_exit();
}
