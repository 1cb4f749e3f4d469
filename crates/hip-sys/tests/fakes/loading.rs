//! The search for the run-time compiler, with libraries made for the test.

use std::path::{Path, PathBuf};
use std::process::Command;

use hip_sys::{Source, Table, Version, rtc};
use sys_load::{Functions as _, Library, Places};
use test_skip::{Lack, skip};

const RUNTIME: &str = "int hipInit(unsigned f) { return 0; }";
const VERSION: &str = "int hipRuntimeGetVersion(int *v) { *v = 60443484; return 0; }";
const COMPILER: &str = "int hiprtcVersion(int *major, int *minor) { *major = 9; *minor = 0; return 0; }";

/// `None`, with the reason printed, on a machine without a C compiler.
fn library(path: PathBuf, parts: &[&str]) -> Option<PathBuf> {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let source = path.with_extension("c");
    std::fs::write(&source, parts.join("\n")).unwrap();
    let compiler = Command::new("cc").args(["-shared", "-fPIC", "-o"]).args([&path, &source]).output();
    match compiler {
        Ok(output) => {
            assert!(output.status.success(), "cc: {}", String::from_utf8_lossy(&output.stderr));
            Some(path)
        }
        Err(error) => {
            skip(Lack::Tool, format_args!("no C compiler: cc: {error}"));
            None
        }
    }
}

// One test, because each step depends on what is in the process.
#[test]
#[cfg_attr(miri, ignore = "Miri cannot open libraries")]
fn the_compiler_of_the_runtime_in_the_process_goes_first() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let search = &rtc::Table::SEARCH;
    // HIP 7's runtime has no compiler, HIP 6's has one. Both have the file names of wheels, without a
    // version.
    let Some(seven) = library(root.join("seven/libamdhip64.so"), &[RUNTIME]) else { return };
    let Some(six) = library(root.join("six/libamdhip64.so"), &[RUNTIME, VERSION, COMPILER]) else { return };
    let Some(beside) = library(root.join("six/libhiprtc.so.6.4.43484"), &[COMPILER]) else { return };
    std::os::unix::fs::symlink(&beside, root.join("six/libhiprtc.so")).unwrap();

    // SAFETY: here and below, this test made the libraries, with the types of the functions that are called.
    let error = unsafe { rtc::Table::load_from(&seven) }.unwrap_err();
    assert_eq!(error.attempts[0].reason, "has no symbol hiprtcVersion");

    // SAFETY: as above.
    let runtime = unsafe { Table::load_from(&six) }.unwrap();
    assert_eq!(runtime.version(), Some(Version::new(6, 4, 43484)), "asked, because the name does not tell");
    assert_eq!(runtime.amd_release(), runtime.version(), "it has none of this project's extensions");

    // The compiler in the loaded runtime is used, whatever else the machine has.
    // SAFETY: as above.
    let found = unsafe { Library::find_in(search, &Places::within(&root)) }.unwrap();
    assert_eq!((found.path(), found.source()), (&*six, Source::Process));
    assert_eq!(found.version(), Some(Version::new(6, 4, 43484)));
    let refused: Vec<_> = found.passed_over().iter().map(|attempt| Path::new(&attempt.place)).collect();
    assert!(refused.contains(&&*seven), "it is in the process, too, and has no compiler: {refused:?}");

    // A variable overrides everything, and a library with a version in its name is not asked for its version.
    let places = Places::within(&root).with_variable("FERROCM_HIPRTC_LIBRARY", root.join("six/libhiprtc.so"));
    // SAFETY: as above.
    let found = unsafe { Library::find_in(search, &places) }.unwrap();
    assert_eq!((found.path(), found.source()), (&*beside, Source::Variable("FERROCM_HIPRTC_LIBRARY")));
    assert_eq!(found.version(), Some(Version::new(6, 4, 43484)));
}
