//! Whole code objects are listed as `llvm-objdump -d` lists them: this workspace's kernels and what the
//! compiler emits besides.

use std::path::{Path, PathBuf};

use kernel_build::Builder;
use test_skip::{Lack, skip};
use vgpu_isa::Isa;

use crate::objdump::{check, llvm_objdump};

/// One target of each generation that has waves of 32 and of 64.
const WITH_WAVES_OF_64: [&str; 3] = ["gfx1030", "gfx1100", "gfx1201"];
/// The sources of the virtual GPU's own tests.
const TESTS_OF_VGPU: &str = "crates/vgpu/tests/device";
/// On targets with both wave sizes, it provides matrices for waves of 32 only.
const MATRIX_HEADER: &str = "matrix.cuh";

/// The sources of the folder `of` below the workspace's.
fn sources(of: &str) -> Builder {
    Builder::new(folder(of)).jobs(2)
}

fn folder(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(of)
}

/// Whether a source includes a header of its folder, or a header that does.
fn includes(source: &Path, header: &str) -> bool {
    let text =
        std::fs::read_to_string(source).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let names = text.lines().filter_map(|line| line.strip_prefix("#include \"")?.split_once('"'));
    names
        .map(|(name, _)| source.with_file_name(name))
        .any(|next| next.ends_with(header) || (next.is_file() && includes(&next, header)))
}

/// Compares the listings of all objects that come out of a build.
fn compare(what: &str, builder: Builder) {
    let Some(tool) = llvm_objdump() else { return skip(Lack::Tool, "llvm-objdump 22 is not installed") };
    if let Err(why) = kernel_build::toolchain::find() {
        return skip(Lack::Tool, why);
    }
    let build = builder.build().unwrap_or_else(|error| panic!("compiling {what}: {error}"));
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let place = scratch.path().join("listed.co");
    let mut failures = Vec::new();
    let mut instructions = 0;
    for (module, object) in build.objects() {
        match check(&object.bytes, Some(&tool), &place) {
            Ok(listed) => instructions += listed.instructions,
            Err(why) => failures.push(format!("{} for {}: {why}", module.name, object.target.processor)),
        }
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(instructions > 0, "no code comes out of {what}");
    eprintln!("{what}: {} objects, {instructions} instructions", build.objects().count());
}

/// For the default targets of builds, so that the cache has what was compiled before.
#[test]
fn the_kernels_of_this_workspace() {
    compare("kernels", sources("kernels"));
}

fn for_all_targets(of: &str) -> Builder {
    sources(of).targets(Isa::ALL.iter().map(|isa| isa.name()))
}

#[test]
#[ignore = "compiles for minutes: cargo xtask test related"]
fn kernels_of_benchmarks() {
    compare("benchmarks", for_all_targets("benches/vgpu/kernels"));
}

#[test]
#[ignore = "compiles for minutes: cargo xtask test related"]
fn kernels_of_tests() {
    // As its tests compile them, so that nothing is compiled twice. The instructions are the same.
    let tests =
        for_all_targets(TESTS_OF_VGPU).source_lines(true).flag("-Rpass-analysis=kernel-resource-usage");
    compare(TESTS_OF_VGPU, tests);
    for of in ["crates/hip-on-hsa/tests/kernels", "crates/hip-on-hsa/tests/services"] {
        compare(of, for_all_targets(of));
    }
}

/// All except those that multiply matrices. Their WMMA is for waves of 32, and clang refuses it for others.
#[test]
#[ignore = "compiles for minutes: cargo xtask test related"]
fn kernels_with_waves_of_64() {
    let mut builder =
        sources("kernels").exclude("blas/**").targets(WITH_WAVES_OF_64).flag("-mwavefrontsize64");
    let mut left = 0;
    for entry in std::fs::read_dir(folder("kernels")).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "cu") {
            continue;
        }
        match includes(&path, MATRIX_HEADER) {
            true => builder = builder.exclude(path.file_name().expect("a name").to_string_lossy()),
            false => left += 1,
        }
    }
    assert!(left > 10, "only {left} sources do not include {MATRIX_HEADER}");
    compare("kernels with waves of 64", builder);
}

#[test]
fn builds_are_for_every_instruction_set() {
    for isa in Isa::ALL {
        assert!(kernel_build::DEFAULT_TARGETS.contains(&isa.name()), "{isa:?}");
    }
}
