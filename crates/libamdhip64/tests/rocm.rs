//! Tests with the drop-in in the place of AMD's library, run by `cargo xtask test rocm 7.2`.

mod support;

use std::path::PathBuf;

use support::{DROP_IN, PLACE, source};
use test_support::elf::{Shared, script};
use test_support::program::Program;
use test_support::sysroot::Sysroot;

/// Compiler-library functions that the original happens to export.
const COMPILERS_OWN: [&str; 2] = ["__gnu_f2h_ieee", "__gnu_h2f_ieee"];
/// The symbol version of the drop-in's additions.
const OWN_VERSION: &str = "FERROCM_1";

/// The folder of AMD's libraries, if they are of the release that the drop-in replaces.
fn originals() -> Option<PathBuf> {
    let sysroot = Sysroot::find()?;
    sysroot.pick("the library that the drop-in stands for", &[("7.2", ())])?;
    Some(sysroot.folder.join("usr/lib/x86_64-linux-gnu"))
}

fn original() -> Option<PathBuf> {
    Some(originals()?.join(DROP_IN.soname))
}

#[test]
fn the_list_of_symbols_is_that_of_the_original() {
    let Some(original) = original() else { return };
    let mut original = Shared::read(&original);
    for name in COMPILERS_OWN {
        assert!(original.functions.remove(name).is_some(), "{name}");
    }
    let (mut functions, mut versions) = script(&DROP_IN.version_script());
    functions.retain(|_, version| version != OWN_VERSION);
    versions.remove(OWN_VERSION);
    assert_eq!(original.functions, functions);
    assert_eq!(original.versions, versions);
    assert_eq!(original.soname, DROP_IN.soname);
}

#[test]
fn a_program_linked_with_the_original_runs_on_the_drop_in() {
    let Some(original) = original() else { return };
    for name in ["saxpy", "launches"] {
        let run = Program::link(
            &source(&format!("{name}.hip")),
            PLACE,
            &["gfx1100"],
            &[],
            &original,
            DROP_IN.library(),
        );
        let run = run.succeeds("vgpu:gfx1100");
        // The loader would complain here about missing versions.
        assert_eq!(run.error, "");
    }
}

/// rocBLAS has the kernels of levels 1 and 2 in its fat binary, and those of matrix products in files.
#[test]
fn amds_rocblas_computes_on_the_drop_in() {
    rocblas_runs("rocblas.c");
}

#[test]
fn amds_rocblas_multiplies_matrices_on_the_drop_in() {
    rocblas_runs("rocblas_gemm.c");
}

fn rocblas_runs(file: &str) {
    let Some(folder) = originals() else { return };
    let library = DROP_IN.library();
    let libraries = [folder.join("librocblas.so.5"), library.clone()];
    let program = Program::link_c(&source(file), PLACE, &libraries.each_ref().map(|path| &**path), library);
    // Some rocBLAS kernels read LDS beyond their allocation, and get 0, as on hardware.
    let program = program.variable("FERROCM_VGPU_CHECK", "");
    for target in ["gfx1100", "gfx90a", "gfx942", "gfx1030", "gfx1201"] {
        let run = program.with_loader_of(&folder).succeeds(&format!("vgpu:{target}"));
        assert_eq!(run.error, "", "{target}");
    }
}
