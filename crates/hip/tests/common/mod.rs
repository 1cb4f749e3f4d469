//! Shared by the device tests: the device under test, and the test kernels compiled for it.
#![allow(dead_code, reason = "no test uses all of it")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[cfg(feature = "rtc")]
use hip::rtc::Compiler;
use hip::{Device, Module};
use test_skip::{Lack, skip};

/// A program for the compiler at run time.
#[cfg(feature = "rtc")]
pub(crate) const SAXPY: &str = r#"
extern "C" __global__ void saxpy(unsigned n, float a, const float* x, float* y) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
"#;

/// A compiler with its own cache.
#[cfg(feature = "rtc")]
pub(crate) fn compiler() -> (tempfile::TempDir, Compiler) {
    with_cache(Compiler::open())
}

/// The compiler for a device, with its own cache.
#[cfg(feature = "rtc")]
pub(crate) fn compiler_for(device: &Device) -> (tempfile::TempDir, Compiler) {
    with_cache(Compiler::open_for(device))
}

#[cfg(feature = "rtc")]
fn with_cache(compiler: hip::Result<Compiler>) -> (tempfile::TempDir, Compiler) {
    let folder = tempfile::tempdir().unwrap();
    let compiler = compiler.unwrap_or_else(|error| panic!("{error}"));
    let compiler = compiler.cache(folder.path()).unwrap();
    (folder, compiler)
}

/// Lives as long as a test's thread, so that everything that the test made is dropped first.
struct LeakCheck;

static TESTS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static LEAKS: LeakCheck = {
        TESTS.fetch_add(1, Ordering::AcqRel);
        LeakCheck
    };
}

impl Drop for LeakCheck {
    fn drop(&mut self) {
        // Tests of one process share the counts, so the last one checks.
        if TESTS.fetch_sub(1, Ordering::AcqRel) == 1 {
            // Another thread releases objects that a host function drops.
            let late = Instant::now() + Duration::from_secs(5);
            while !hip::live().is_empty() && Instant::now() < late {
                std::thread::sleep(Duration::from_millis(1));
            }
            let live = hip::live();
            assert!(live.is_empty(), "left behind by a test: {live}");
        }
    }
}

/// Checks, when this thread ends, that no object of this crate is left. For tests that open devices
/// themselves.
pub(crate) fn check_leaks() {
    LEAKS.with(|_| {});
}

/// The device that `FERROCM_DEVICE` names, else a virtual one. When the test's thread ends, no object of this
/// crate may be left.
pub(crate) fn device() -> Device {
    check_leaks();
    let uri = std::env::var(hip::uri::DEVICE_VARIABLE).ok().filter(|uri| !uri.is_empty());
    Device::open(uri.as_deref().unwrap_or("vgpu:gfx1100")).unwrap_or_else(|error| panic!("{error}"))
}

/// A command that starts this test program again. If the command line names a loader, as runners do, it uses
/// the same one.
pub(crate) fn this_program() -> Command {
    let program = std::env::args_os().next().unwrap();
    let line = std::fs::read("/proc/self/cmdline").unwrap_or_default();
    let words = line.split(|byte| *byte == 0).map(|word| OsStr::from_bytes(word).to_owned());
    let mut before: Vec<OsString> = words.take_while(|word| *word != program).collect();
    before.push(program);
    let mut command = Command::new(&before[0]);
    command.args(&before[1..]);
    command
}

/// Whether the library behind the device has a known fault in a function.
pub(crate) fn has_known_fault(device: &Device, function: &str) -> bool {
    let quirk = device.quirks().into_iter().find(|quirk| quirk.functions.contains(&function));
    if let Some(quirk) = quirk {
        skip(Lack::Device, quirk);
    }
    quirk.is_some()
}

/// Whether the device reports every access outside its allocations.
pub(crate) fn finds_faults(device: &Device) -> bool {
    let finds = device.has_exact_bounds();
    if !finds {
        skip(Lack::Device, format_args!("{device} does not report every access out of bounds"));
    }
    finds
}

/// A folder below `tests`, in the checkout or in an archive of tests.
pub(crate) fn folder(name: &str) -> PathBuf {
    // Test runners set the variable, for an archive to where it is now.
    let package = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    PathBuf::from(package).join("tests").join(name)
}

/// Names the folder that has the test kernels, compiled: on a machine without a device compiler.
const COMPILED: &str = "FERROCM_TEST_KERNELS";

/// The code of a source below `tests` for a processor: taken from an archive of tests, else compiled.
pub(crate) fn code(name: &str, source: &str, processor: &str, metrics: bool) -> Vec<u8> {
    let nvidia = processor.starts_with("sm_");
    if let Some(compiled) = std::env::var_os(COMPILED).filter(|folder| !folder.is_empty()) {
        let stem = source.strip_suffix(".cu").unwrap();
        let file = |end: &str| PathBuf::from(&compiled).join(name).join(format!("{stem}.{processor}{end}"));
        // An architecture has code with, and code without what only this one has.
        let files = ["", "a"].map(file);
        let found = files.iter().find_map(|file| std::fs::read(file).ok());
        return found.unwrap_or_else(|| panic!("the archive of tests has no {}", files[0].display()));
    }
    let builder = kernel_build::Builder::new(folder(name)).source(source).metrics(metrics);
    if nvidia {
        let nvidia = kernel_build::Nvidia::cubin().archs([processor]);
        let build = builder.targets(["gfx1100"]).nvidia(nvidia).build();
        let build = build.unwrap_or_else(|error| panic!("{error}"));
        return build.modules[0].images[0].bytes.clone();
    }
    let build = builder.targets([processor]).build().unwrap_or_else(|error| panic!("{error}"));
    let object = &build.modules[0].objects[0];
    assert!(object.diagnostics.is_empty(), "{:?}", object.diagnostics);
    object.bytes.clone()
}

/// The test kernels' code for a processor.
pub(crate) fn compile(processor: &str) -> Vec<u8> {
    code("kernels", "test.cu", processor, false)
}

/// The test kernels, loaded on a device.
pub(crate) fn module(device: &Device) -> Module {
    let code = compile(&device.target().processor);
    Module::load(device, &code).unwrap_or_else(|error| panic!("{error}"))
}

/// The offset, size and count of an ELF file's headers: of segments, of sections.
pub(crate) fn elf_tables(code: &[u8]) -> [(usize, usize, usize); 2] {
    let word = |at: usize| u64::from_le_bytes(*code[at..].first_chunk().unwrap()) as usize;
    let half = |at: usize| usize::from(u16::from_le_bytes(*code[at..].first_chunk().unwrap()));
    [(word(32), 56, half(56)), (word(40), 64, half(60))]
}
