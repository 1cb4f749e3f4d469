//! C programs that use this project's rocBLAS and HIP. The tests of the HIP drop-in run them with AMD's
//! rocBLAS.

mod support;

use std::path::Path;

use support::{HIP, PLACE, ROCBLAS};
use test_support::program::Program;

/// One target of each wave size. The tests of `blas-on-kernels` cover the other differences between targets.
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
