//! The drop-in, linked from the static library that cargo has built with these tests, and programs that run on it.
#![allow(dead_code, unreachable_pub, reason = "each test file is a crate of its own and uses a part of it")]

pub mod elf;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use drop_in::DropIn;
use kernel_build::toolchain::{self, Toolchain};
use tempfile::TempDir;

pub const SONAME: &str = "libamdhip64.so.7";

/// A folder for what one test makes.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// The version script: what the library exports.
pub fn version_script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("symbols.map")
}

/// The drop-in's path. It is linked once for all tests.
pub fn library() -> PathBuf {
    // Where a sysroot's loader runs the test, that is the process's own program.
    let test = PathBuf::from(std::env::args_os().next().expect("the test's own path"));
    let built = test.parent().expect("the folder of the test");
    // Beside the test is what it was built with; of several builds, the last one.
    let archives = fs::read_dir(built).expect("the folder of the test").flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with("libamdhip64-") && name.ends_with(".a")
    });
    let archive = archives.max_by_key(|entry| entry.metadata().and_then(|file| file.modified()).ok());
    let archive = archive.expect("cargo builds the static library with the tests").path();
    let drop_in = DropIn { archive: &archive, script: &version_script(), soname: SONAME, strip: false };
    drop_in.link(&scratch("drop-in")).unwrap_or_else(|error| panic!("{error}"))
}

fn toolchain() -> Toolchain {
    // The error says what was looked for and how to get it.
    toolchain::find().unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a command that has to succeed.
fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{told}", output.status);
    output
}

/// A compiled program, and how to run it.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    /// Holds the program, and is removed with the last copy of this.
    _folder: Arc<TempDir>,
    library: PathBuf,
    /// The folder of another system's libraries, with their loader.
    system: Option<PathBuf>,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

/// What came of a run.
pub struct Run {
    /// The exit code; none if a signal ended it.
    pub code: Option<i32>,
    pub output: String,
    pub error: String,
}

impl Program {
    /// Compiles `programs/<name>.hip` for these targets and links it with the drop-in.
    pub fn compile(name: &str, targets: &[&str], options: &[&str]) -> Self {
        let library = library();
        Self::link(name, targets, options, &library, library.clone())
    }

    /// As [`compile`](Self::compile), linked with one library to be run on another.
    pub fn link(name: &str, targets: &[&str], options: &[&str], linked: &Path, library: PathBuf) -> Self {
        Self::build(name, targets, options, "-pie", linked, library)
    }

    /// A shared library in the place of a program.
    pub fn plugin(name: &str, targets: &[&str]) -> Self {
        let library = library();
        Self::build(name, targets, &[], "-shared", &library, library.clone())
    }

    pub fn path(&self) -> &str {
        self.path.to_str().expect("a path in UTF-8")
    }

    fn build(
        name: &str,
        targets: &[&str],
        options: &[&str],
        kind: &str,
        linked: &Path,
        library: PathBuf,
    ) -> Self {
        let toolchain = toolchain();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.hip"));
        let folder = tempfile::Builder::new().prefix(name).tempdir_in(scratch("programs"));
        let kept = Arc::new(folder.expect("a folder for the program"));
        let folder = kept.path();
        let compile = |output: &Path, more: &[&str]| {
            let mut command = toolchain.command();
            // Both sides name the static variables of device code by the same text.
            command.args(["-O2", "-Wall", "-Werror", "-cuid=program"]).args(options).args(more);
            run(command.arg("-o").arg(output).arg(&source));
        };
        // clang would have a program of its own put the code objects together, which the toolchain leaves out.
        let objects: Vec<(String, Vec<u8>)> = targets
            .iter()
            .map(|target| {
                let object = folder.join(format!("{target}.hsaco"));
                let arch = format!("--offload-arch={target}");
                compile(&object, &["--offload-device-only", "--no-gpu-bundle-output", &arch]);
                (format!("hipv4-amdgcn-amd-amdhsa--{target}"), fs::read(&object).expect("the code object"))
            })
            .collect();
        let bundle = folder.join("bundle.hipfb");
        fs::write(&bundle, offload_bundle(&objects)).expect("the bundle");
        let object = folder.join("host.o");
        let bundle = bundle.to_str().expect("a path in UTF-8");
        compile(
            &object,
            &["--offload-host-only", "-c", "-fPIC", "-Xclang", "-fcuda-include-gpubinary", "-Xclang", bundle],
        );
        let path = folder.join(name);
        let mut link = Command::new("cc");
        // What a library itself needs is not looked for: it may be one of another system.
        link.args([kind, "-Wl,--unresolved-symbols=ignore-in-shared-libs"]);
        run(link.arg("-o").arg(&path).arg(&object).arg(linked).args(["-lpthread", "-ldl"]));
        Self { path, _folder: kept, library, system: None, arguments: Vec::new(), variables: Vec::new() }
    }

    /// Compiles `programs/<name>.c` with the machine's compiler and links it with libraries, the last of which is the drop-in.
    pub fn link_c(name: &str, libraries: &[&Path]) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{name}.c"));
        let folder = tempfile::Builder::new().prefix(name).tempdir_in(scratch("programs"));
        let folder = Arc::new(folder.expect("a folder for the program"));
        let path = folder.path().join(name);
        let mut command = Command::new("cc");
        command.args(["-O1", "-Wall", "-Werror", "-o"]).arg(&path).arg(&source);
        command.arg("-Wl,--unresolved-symbols=ignore-in-shared-libs").args(libraries);
        run(&mut command);
        let library = libraries.last().expect("the drop-in").to_path_buf();
        Self { path, _folder: folder, library, system: None, arguments: Vec::new(), variables: Vec::new() }
    }

    /// Has the loader of another system run the program, with that system's libraries but for the drop-in.
    pub fn with_loader_of(&self, folder: &Path) -> Self {
        Self { system: Some(folder.to_owned()), ..self.clone() }
    }

    pub fn arguments<const N: usize>(&self, arguments: [&str; N]) -> Self {
        Self { arguments: arguments.map(str::to_owned).to_vec(), ..self.clone() }
    }

    pub fn variable(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.variables.push((name.to_owned(), value.to_owned()));
        with
    }

    /// Runs the program on a device.
    pub fn run(&self, device: &str) -> Run {
        let drop_in = self.library.parent().expect("a folder");
        let mut command = match &self.system {
            None => Command::new(&self.path),
            Some(system) => {
                let mut command = Command::new(system.join("ld-linux-x86-64.so.2"));
                let folders = std::env::join_paths([drop_in, system]).expect("paths without colons");
                command.args(["--inhibit-cache", "--library-path"]).arg(folders).arg(&self.path);
                command
            }
        };
        for name in ["HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "FERROCM_LOG"] {
            command.env_remove(name);
        }
        command.args(&self.arguments).env("LD_LIBRARY_PATH", drop_in).env("FERROCM_DEVICE", device);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.stdin(Stdio::null()).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        Run {
            code: output.status.code(),
            output: String::from_utf8(output.stdout).expect("UTF-8"),
            error: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Runs the program, which has to end with exit code 0.
    pub fn succeeds(&self, device: &str) -> Run {
        let run = self.run(device);
        let Run { code, output, error } = &run;
        assert_eq!(*code, Some(0), "{} on {device}\n{output}{error}", self.path.display());
        run
    }
}

/// Code objects by the names of their targets, in the form that clang puts into programs.
fn offload_bundle(objects: &[(String, Vec<u8>)]) -> Vec<u8> {
    const PAGE: usize = 4096;
    let host = ("host-x86_64-unknown-linux-gnu-".to_owned(), Vec::new());
    let entries: Vec<&(String, Vec<u8>)> = std::iter::once(&host).chain(objects).collect();
    let head = 32 + entries.iter().map(|(name, _)| 24 + name.len()).sum::<usize>();
    let mut header = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    header.extend((entries.len() as u64).to_le_bytes());
    let mut body = Vec::new();
    let start = head.next_multiple_of(PAGE);
    for (name, bytes) in entries {
        let at = start + body.len();
        for word in [at, bytes.len(), name.len()] {
            header.extend((word as u64).to_le_bytes());
        }
        header.extend(name.as_bytes());
        body.extend(bytes);
        body.resize(body.len().next_multiple_of(PAGE), 0);
    }
    header.resize(start, 0);
    header.extend(body);
    header
}
