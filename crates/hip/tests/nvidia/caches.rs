//! What is compiled once for all processes: PTX by the driver, and sources by NVRTC.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use hip::{DeviceBuffer, Module};
use test_skip::{Lack, skip};

use crate::device;

/// Names the folder of the caches to a process that compiles.
const FOLDER: &str = "FERROCM_CACHE";
/// Marks such a process.
const MARK: &str = "FERROCM_TEST_COMPILES";

/// PTX whose compilation takes a while: one long chain of operations.
fn ptx() -> String {
    let step = "    mad.lo.u32 %r0, %r0, %r1, 12345;\n    xor.b32 %r0, %r0, %r1;\n    shf.l.wrap.b32 %r0, %r0, %r0, 7;\n";
    format!(
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry chain(.param .u64 out)\n{{\n    .reg .b32 %r<2>;\n    \
         .reg .b64 %d;\n    ld.param.u64 %d, [out];\n    cvta.to.global.u64 %d, %d;\n    mov.u32 %r0, 1;\n    mov.u32 %r1, 3;\n{}    \
         st.global.u32 [%d], %r0;\n    ret;\n}}\n",
        step.repeat(4000)
    )
}

/// What the chain computes.
fn chain() -> u32 {
    (0..4000).fold(1_u32, |x, _| (x.wrapping_mul(3).wrapping_add(12345) ^ 3).rotate_left(7))
}

/// A source of templates.
const SOURCE: &str = "template <int N> struct Sum { static __device__ int of(int x) { return Sum<N - 1>::of(x) + N; } };\n\
     template <> struct Sum<0> { static __device__ int of(int x) { return x; } };\n\
     extern \"C\" __global__ void sum(int *x) { *x = Sum<200>::of(*x); }\n";

/// The compiled files below a folder, with their numbers: one that is written again has another.
fn files(folder: &Path, found: &mut BTreeSet<(PathBuf, u64)>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        if meta.is_dir() {
            files(&path, found);
        } else if path.components().any(|part| part.as_os_str() == "objects") {
            found.insert((path, meta.ino()));
        }
    }
}

#[test]
fn a_second_process_compiles_nothing() {
    let Some(_) = device() else { return };
    if hip::rtc::Compiler::nvrtc().is_err() {
        skip(Lack::Machine, "no NVRTC, whose results are cached, too");
    }
    let folder = tempfile::tempdir().unwrap();
    let compile = |is_second: bool| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "caches::the_compiling_process", "--nocapture"])
            .env(FOLDER, folder.path())
            .env(MARK, if is_second { "second" } else { "first" })
            // The driver's own cache would hide that ours is used.
            .env("CUDA_CACHE_DISABLE", "1")
            .output()
            .unwrap();
        println!("{}{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr));
        assert!(child.status.success());
        let mut found = BTreeSet::new();
        files(folder.path(), &mut found);
        found
    };
    let first = compile(false);
    assert!(first.iter().any(|(path, _)| path.starts_with(folder.path().join("ptx"))), "{first:?}");
    assert_eq!(compile(true), first);
}

#[test]
#[ignore = "the processes of another test, which compile"]
fn the_compiling_process() {
    let Ok(mark) = std::env::var(MARK) else { return };
    let device = device().unwrap();
    let stream = device.stream().unwrap();
    let text = ptx();
    let start = Instant::now();
    let function = Module::load(&device, text.as_bytes()).unwrap().function("chain").unwrap();
    println!("{mark}: PTX is loaded in {:?}", start.elapsed());
    let mut out = DeviceBuffer::<u32>::zeroed(&stream, 1).unwrap();
    // SAFETY: the kernel writes one number.
    unsafe { function.launch(&stream).grid(1).block(1).arg(&mut out).enqueue().unwrap() };
    assert_eq!(out.to_vec(&stream).unwrap(), [chain()]);

    let Ok(compiler) = hip::rtc::Compiler::nvrtc() else { return };
    let start = Instant::now();
    let compiled = compiler.compile(&hip::rtc::Program::new(SOURCE), device.target()).unwrap();
    println!("{mark}: a source is compiled in {:?}, from the cache: {}", start.elapsed(), compiled.cached);
    assert_eq!(compiled.cached, mark == "second" && compiler.is_caching());
    let function = compiled.load(&device).unwrap().function("sum").unwrap();
    let mut x = DeviceBuffer::from_slice(&stream, &[5_i32]).unwrap();
    // SAFETY: the kernel reads and writes one number.
    unsafe { function.launch(&stream).grid(1).block(1).arg(&mut x).enqueue().unwrap() };
    assert_eq!(x.to_vec(&stream).unwrap(), [5 + 200 * 201 / 2]);
}
