//! C programs for rocBLAS on this project's rocBLAS and HIP. With AMD's rocBLAS they run in the tests of the HIP drop-in.

mod support;

use std::path::Path;

use support::{HIP, PLACE, ROCBLAS};
use test_support::program::Program;

/// The targets are one of each size of waves: what differs between others is for the tests of `blas-on-kernels`.
const TARGETS: [&str; 2] = ["gfx1100", "gfx90a"];

fn program(file: &str) -> Program {
    let source = Path::new(PLACE.krate).join("../libamdhip64/tests/programs").join(file);
    let libraries = [ROCBLAS.library(), HIP.library()];
    let program =
        Program::link_c(&source, PLACE, &libraries.each_ref().map(|path| &**path), libraries[1].clone());
    let folders = std::env::join_paths(libraries.iter().filter_map(|path| path.parent())).unwrap();
    program.variable("LD_LIBRARY_PATH", folders.to_str().unwrap())
}

#[test]
fn levels_1_and_2_compute() {
    let program = program("rocblas.c");
    for target in TARGETS {
        assert_eq!(program.succeeds(&format!("vgpu:{target}")).error, "", "{target}");
    }
}

#[test]
fn matrices_are_multiplied() {
    let program = program("rocblas_gemm.c");
    for target in TARGETS {
        assert_eq!(program.succeeds(&format!("vgpu:{target}")).error, "", "{target}");
    }
}
