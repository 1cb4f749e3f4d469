//! Whole code objects are listed as `llvm-objdump -d` lists them: this workspace's kernels and what the compiler emits besides.

use std::path::Path;

use kernel_build::{Build, Builder};
use vgpu_isa::{Isa, TARGETS};

use crate::objdump::{check, llvm_objdump};

/// One target of each generation that has waves of 32 and of 64.
const WITH_WAVES_OF_64: [&str; 3] = ["gfx1030", "gfx1100", "gfx1201"];
/// The sources of the virtual GPU's own tests.
const TESTS_OF_VGPU: &str = "crates/vgpu/tests/device";

/// Compiled sources of the folder `of` below the workspace's, for all targets, or for some of those with waves of 32, for waves of 64;
/// `None` if there is no compiler.
fn build(of: &str, wave64: bool) -> Option<Build> {
    if let Err(why) = kernel_build::toolchain::find() {
        eprintln!("skipped: {why}");
        return None;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut builder = Builder::new(root.join(of)).jobs(2);
    builder = match wave64 {
        false => builder.targets(Isa::ALL.iter().map(|isa| isa.name())),
        true => builder.targets(WITH_WAVES_OF_64).flag("-mwavefrontsize64"),
    };
    if of == TESTS_OF_VGPU {
        // As its tests compile them, so that nothing is compiled twice. The instructions are the same.
        builder = builder.source_lines(true).flag("-Rpass-analysis=kernel-resource-usage");
    }
    Some(builder.build().unwrap_or_else(|error| panic!("compiling {of}: {error}")))
}

/// Compares the listings of all objects that come out of a folder.
fn compare(of: &str, wave64: bool) {
    let Some(tool) = llvm_objdump() else {
        eprintln!("skipped: llvm-objdump 22 is not installed");
        return;
    };
    let Some(build) = build(of, wave64) else { return };
    let mut failures = Vec::new();
    let mut instructions = 0;
    for (module, object) in build.objects() {
        let name = format!("{}-{}-{wave64}.co", module.name, object.target.processor);
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&name);
        match check(&object.bytes, Some(&tool), &place) {
            Ok(listed) => instructions += listed.instructions,
            Err(what) => failures.push(format!("{name}: {what}")),
        }
        let _ = std::fs::remove_file(place);
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(instructions > 0, "no code comes out of {of}");
    eprintln!("{of}: {} objects, {instructions} instructions", build.objects().count());
}

#[test]
fn the_kernels_of_this_workspace() {
    compare("kernels", false);
}

#[test]
fn kernels_of_benchmarks() {
    compare("benches/vgpu/kernels", false);
}

#[test]
fn kernels_of_tests() {
    compare(TESTS_OF_VGPU, false);
    compare("crates/hip-on-hsa/tests/kernels", false);
    compare("crates/hip-on-hsa/tests/services", false);
}

#[test]
fn kernels_with_waves_of_64() {
    compare("kernels", true);
}

#[test]
fn builds_are_for_all_targets_of_the_virtual_gpu() {
    let targets: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    assert_eq!(kernel_build::DEFAULT_TARGETS, targets);
}
