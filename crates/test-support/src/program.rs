//! HIP C++ programs in tests, compiled with the project's clang, linked with one library and run on another.
//! Also drop-in libraries, linked from the static library that cargo built along with a crate's tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use device_compiler::toolchain::{self, Toolchain};
use tempfile::TempDir;

/// The folders of a crate's tests.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The crate's folder: `env!("CARGO_MANIFEST_DIR")`.
    pub krate: &'static str,
    /// The folder for files that tests make: `env!("CARGO_TARGET_TMPDIR")`.
    pub scratch: &'static str,
}

/// A drop-in library.
#[derive(Debug, Clone, Copy)]
pub struct DropIn {
    /// Where its crate is.
    pub place: Place,
    /// Its static library without `lib` and `.a`.
    pub archive: &'static str,
    /// Its name.
    pub soname: &'static str,
    /// The version script in the crate's folder, which says what the library exports.
    pub script: &'static str,
}

impl Place {
    /// A folder for the files of one test.
    fn scratch(&self, name: &str) -> PathBuf {
        let folder = Path::new(self.scratch).join(name);
        fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        folder
    }
}

impl DropIn {
    /// The version script: what the library exports.
    pub fn version_script(&self) -> PathBuf {
        Path::new(self.place.krate).join(self.script)
    }

    /// The library's path. It is linked once for all tests.
    pub fn library(&self) -> PathBuf {
        // If a sysroot's loader runs the test, the process's own program is that loader.
        let test = PathBuf::from(std::env::args_os().next().expect("the test's own path"));
        let built = test.parent().expect("the folder of the test");
        // The libraries that the test was built with are beside it; of several builds, the last one.
        let archives = fs::read_dir(built).expect("the folder of the test").flatten().filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&format!("lib{}-", self.archive)) && name.ends_with(".a")
        });
        let archive = archives.max_by_key(|entry| entry.metadata().and_then(|file| file.modified()).ok());
        let archive = archive.expect("cargo builds the static library with the tests").path();
        let script = self.version_script();
        let drop_in =
            drop_in::link::DropIn { archive: &archive, script: &script, soname: self.soname, strip: false };
        // Crates share the scratch folder, and a program searches the whole folder of its library. So each
        // library gets its own folder.
        let folder = self.place.scratch(&format!("drop-in-{}", self.archive));
        drop_in.link(&folder).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Libraries that programs are linked with besides HIP; the last one only if they use it.
const LIBRARIES: [&str; 5] =
    ["-lpthread", "-ldl", "-Wl,--push-state,--as-needed", "-lstdc++", "-Wl,--pop-state"];

fn toolchain() -> Toolchain {
    // The error says what was searched and how to get it.
    toolchain::find().unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a command that must succeed.
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
    /// Holds the program and its output files; removed with the last clone.
    folder: Arc<TempDir>,
    library: PathBuf,
    /// The folder of another system's libraries, with their loader.
    system: Option<PathBuf>,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
}

/// The result of a run.
#[derive(Debug)]
pub struct Run {
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub output: String,
    /// What it wrote to standard error.
    pub error: String,
}

impl Program {
    /// Compiles a source for these targets, with options for the compiler, and links it with one library to
    /// run it on another.
    pub fn link(
        source: &Path,
        place: Place,
        targets: &[&str],
        options: &[&str],
        linked: &Path,
        library: PathBuf,
    ) -> Self {
        Self::build(source, place, targets, options, "-pie", linked, library)
    }

    /// A shared library instead of a program.
    pub fn plugin(source: &Path, place: Place, targets: &[&str], library: PathBuf) -> Self {
        Self::build(source, place, targets, &[], "-shared", &library, library.clone())
    }

    /// The program's file.
    pub fn path(&self) -> &str {
        self.path.to_str().expect("a path in UTF-8")
    }

    fn build(
        source: &Path,
        place: Place,
        targets: &[&str],
        options: &[&str],
        kind: &str,
        linked: &Path,
        library: PathBuf,
    ) -> Self {
        let toolchain = toolchain();
        let name = source.file_stem().expect("a file").to_str().expect("a name in UTF-8");
        let folder = tempfile::Builder::new().prefix(name).tempdir_in(place.scratch("programs"));
        let kept = Arc::new(folder.expect("a folder for the program"));
        let folder = kept.path();
        let compile = |output: &Path, more: &[&str]| {
            let mut command = toolchain.command();
            // Host and device sides must derive the same names for static device variables.
            command.args(["-O2", "-Wall", "-Werror", "-cuid=program"]).args(options).args(more);
            run(command.arg("-o").arg(output).arg(source));
        };
        // clang would call a separate program to bundle the code objects, which the toolchain lacks.
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
        // The library's own dependencies are not resolved: it may be from another system.
        link.args([kind, "-Wl,--unresolved-symbols=ignore-in-shared-libs"]);
        run(link.arg("-o").arg(&path).arg(&object).arg(linked).args(LIBRARIES));
        Self { path, folder: kept, library, system: None, arguments: Vec::new(), variables: Vec::new() }
    }

    /// Compiles C with the machine's compiler, links it with libraries, and runs it on one.
    pub fn link_c(source: &Path, place: Place, libraries: &[&Path], library: PathBuf) -> Self {
        Self::link_c_with(source, place, &[], libraries, library)
    }

    /// Like [`link_c`](Self::link_c), with options for the compiler.
    pub fn link_c_with(
        source: &Path,
        place: Place,
        options: &[String],
        libraries: &[&Path],
        library: PathBuf,
    ) -> Self {
        let name = source.file_stem().expect("a file").to_str().expect("a name in UTF-8");
        let folder = tempfile::Builder::new().prefix(name).tempdir_in(place.scratch("programs"));
        let folder = Arc::new(folder.expect("a folder for the program"));
        let path = folder.path().join(name);
        let mut command = Command::new("cc");
        command.args(["-O1", "-Wall", "-Werror"]).args(options).arg("-o").arg(&path).arg(source);
        command.arg("-Wl,--unresolved-symbols=ignore-in-shared-libs").args(libraries).arg("-lm");
        run(&mut command);
        Self { path, folder, library, system: None, arguments: Vec::new(), variables: Vec::new() }
    }

    /// Runs the program with the loader of another system, on that system's libraries except for the drop-in.
    pub fn with_loader_of(&self, folder: &Path) -> Self {
        Self { system: Some(folder.to_owned()), ..self.clone() }
    }

    /// The program's folder, removed along with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// With these arguments on the command line.
    pub fn arguments<const N: usize>(&self, arguments: [&str; N]) -> Self {
        Self { arguments: arguments.map(str::to_owned).to_vec(), ..self.clone() }
    }

    /// With a variable in its environment.
    pub fn variable(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.variables.push((name.to_owned(), value.to_owned()));
        with
    }

    /// Runs the program on a device, in its own folder.
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
        let output = command.stdin(Stdio::null()).current_dir(self.folder()).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
        Run {
            code: output.status.code(),
            output: String::from_utf8(output.stdout).expect("UTF-8"),
            error: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Runs the program, which must end with exit code 0.
    pub fn succeeds(&self, device: &str) -> Run {
        let run = self.run(device);
        let Run { code, output, error } = &run;
        assert_eq!(*code, Some(0), "{} on {device}\n{output}{error}", self.path.display());
        run
    }
}

/// A bundle of code objects by target, in the form that clang embeds in programs.
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
