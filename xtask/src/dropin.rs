//! `cargo xtask dropin`: builds the drop-in libraries from `hip-on-hsa`, `vgpu` and other crates, which
//! programs load instead of AMD's.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use drop_in::link::DropIn;
use kernel_build::CudaArch;
use serde::Deserialize;
use setup::{progress, run};
use shared_commands::libraries::{self, First, Own};

use crate::test_devices::for_test_devices;
use crate::tools;

/// A drop-in library and its source.
#[derive(Debug, Clone, Copy)]
struct Library {
    /// Its name and place.
    library: libraries::Library,
    /// The package of its static library, and the name of the library target.
    package: &'static str,
    target: &'static str,
    script: &'static str,
}

const HIP: Library = Library {
    library: libraries::HIP,
    package: "ferrocm-libamdhip64",
    target: "amdhip64",
    script: "crates/libamdhip64/symbols.map",
};
const ROCBLAS: Library = Library {
    library: libraries::ROCBLAS,
    package: "ferrocm-librocblas",
    target: "rocblas_drop_in",
    script: "crates/librocblas/symbols.map",
};
const RCCL: Library = Library {
    library: libraries::RCCL,
    package: "ferrocm-librccl",
    target: "rccl_drop_in",
    script: "crates/librccl/symbols.map",
};
const HIPRTC: Library = Library {
    library: libraries::HIPRTC,
    package: "ferrocm-libhiprtc",
    target: "hiprtc_drop_in",
    script: "crates/libhiprtc/symbols.map",
};
const HSA: Library = Library {
    library: libraries::HSA,
    package: "ferrocm-libhsa-runtime64",
    target: "hsa_runtime64",
    script: "crates/libhsa-runtime64/symbols.map",
};
const ROCM_SMI: Library = smi(libraries::ROCM_SMI, "crates/librocm-smi/rocm_smi64.map");
const AMD_SMI: Library = smi(libraries::AMD_SMI, "crates/librocm-smi/amd_smi.map");
const DRIVER: Library = smi(libraries::DRIVER, "crates/librocm-smi/driver.map");

/// One of several libraries from one package, which differ in their exports.
const fn smi(library: libraries::Library, script: &'static str) -> Library {
    Library { library, package: "ferrocm-librocm-smi", target: "rocm_smi", script }
}

/// All of them.
const ALL: [Library; 8] = [HIP, HIPRTC, ROCBLAS, RCCL, HSA, ROCM_SMI, AMD_SMI, DRIVER];

impl Library {
    /// The source of a library.
    fn of(library: libraries::Library) -> Result<Library> {
        let made = ALL.into_iter().find(|made| made.library == library);
        made.with_context(|| format!("{} has no source", library.soname))
    }
}

/// What to build, and where to put it.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// The folder for the libraries; by default `dropin` in the target folder.
    pub(crate) out: Option<PathBuf>,
    /// Use the release profile instead of the tests' profile, which shares the virtual GPU with them.
    pub(crate) release: bool,
}

/// Builds and links the libraries, and prints how to use them.
pub(crate) fn dropin(options: &Options) -> Result<()> {
    let built = Built::new(options.release)?;
    let folder = options.out.clone().unwrap_or_else(|| folder_of(true));
    for library in ALL {
        println!("{}", built.link(library, &folder)?.display());
    }
    println!("\nTo run a HIP program on the first one:\n  {}", usage(&libraries::HIP.folder_in(&folder)));
    let hsa = libraries::HSA.folder_in(&folder);
    println!("\nTo run one on AMD's own HIP over the virtual GPU:\n  {}", usage(&hsa));
    for (name, library) in
        [("rocBLAS", libraries::ROCBLAS), ("RCCL", libraries::RCCL), ("hiprtc", libraries::HIPRTC)]
    {
        let folder = library.folder_in(&folder);
        println!("\nFor a program that uses {name}, put {} before either.", folder.display());
    }
    Ok(())
}

/// The default folder of a profile's libraries.
fn folder_of(release: bool) -> PathBuf {
    tools::target_folder().join(if release { "dropin" } else { "dropin-tests" })
}

/// Builds the libraries of the virtual GPU, in the tests' profile like the tests; returns their folder.
pub(crate) fn hsa(release: bool) -> Result<PathBuf> {
    let built = if release { Built::new(true)? } else { Built::for_tests()? };
    built.link_virtual()
}

/// Builds HIP and the libraries of the virtual GPU like the tests; returns their folders.
pub(crate) fn hip_and_hsa() -> Result<[PathBuf; 2]> {
    let built = Built::for_tests()?;
    Ok([built.linked(HIP)?, built.link_virtual()?])
}

/// Builds HIP and its run-time compiler like the tests; returns their folders.
pub(crate) fn hip_and_hiprtc() -> Result<[PathBuf; 2]> {
    let built = Built::for_tests()?;
    Ok([built.linked(HIP)?, built.linked(HIPRTC)?])
}

/// Builds the libraries for programs, and the program `ferrocm`, like the tests; returns the folder of the
/// libraries, and the program.
pub(crate) fn libraries_and_program() -> Result<(PathBuf, PathBuf)> {
    let mut command = build_with_program(false);
    for_test_devices(&mut command);
    let built = Built::from(false, command)?;
    for library in libraries::FOR_PROGRAMS {
        built.linked(Library::of(library)?)?;
    }
    Ok((folder_of(false), built.program.context("cargo made no program ferrocm")?))
}

/// Builds the virtual GPU's libraries, and the others that replace AMD's.
pub(crate) fn before_amds(release: bool, own: Own) -> Result<First> {
    let built = Built::new(release)?;
    built.link_virtual()?;
    for library in own.libraries() {
        built.linked(Library::of(library)?)?;
    }
    let mut first = First::in_folder(&folder_of(release), own)?;
    if own.blas {
        first.preloaded.push(internals(&libraries::ROCBLAS.folder_in(&folder_of(release)))?);
    }
    Ok(first)
}

/// A library of C++ functions that AMD's `rocblas-test` needs from AMD's library. They are not part of
/// rocBLAS's interface, so the drop-in lacks them. The library goes into the drop-in's folder. Returns its
/// path.
fn internals(folder: &Path) -> Result<PathBuf> {
    let toolchain = kernel_build::toolchain::find()?;
    let object = folder.join("rocblas-internals.o");
    let mut compile = toolchain.command();
    compile.args([
        "-x",
        "c++",
        "-Wno-unused-command-line-argument",
        "-std=c++17",
        "-O1",
        "-Wall",
        "-fPIC",
        "-fvisibility=hidden",
        "-c",
        "-o",
    ]);
    run::run(compile.arg(&object).arg(tools::workspace().join(INTERNALS)))?;
    let library = folder.join("librocblas-internals.so");
    let mut link = Command::new("cc");
    // The program brings HIP.
    link.args(["-shared", "-Wl,--unresolved-symbols=ignore-all", "-o"]).arg(&library).arg(&object);
    link.arg(folder.join(libraries::ROCBLAS.soname)).arg("-lstdc++");
    run::run(&mut link)?;
    Ok(library)
}

/// The source of [`internals`].
const INTERNALS: &str = "crates/librocblas/internals/internals.cpp";

/// The package of the installable program, and the program's name.
const PROGRAM: &str = "ferrocm";

/// Builds the contents of packages into a folder, without debug information and symbols: `lib` with the
/// libraries, and `bin` with the program. Kernels are those in this folder, for these NVIDIA GPUs, too.
pub(crate) fn packaged(release: bool, kernels: &Path, cuda_archs: &[CudaArch], folder: &Path) -> Result<()> {
    let mut command = build_with_program(release);
    command.env(variables::PREBUILT.name, kernels);
    if !cuda_archs.is_empty() {
        let archs: Vec<_> = cuda_archs.iter().map(ToString::to_string).collect();
        command.env(variables::CUDA_ARCHS.name, archs.join(","));
    }
    let built = Built::from(release, command)?;
    let program = built.program.as_deref().context("cargo made no program ferrocm")?;
    for library in ALL {
        let path = built.link(library, &folder.join("lib"))?;
        run::run(Command::new("strip").arg("--strip-unneeded").arg(path))?;
    }
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;
    run::run(Command::new("strip").arg("-o").arg(bin.join(PROGRAM)).arg(program))?;
    Ok(())
}

/// The static libraries of a build.
#[derive(Debug)]
struct Built {
    release: bool,
    /// The archives, by target name.
    archives: HashMap<String, PathBuf>,
    /// The program `ferrocm`, if it was built.
    program: Option<PathBuf>,
}

impl Built {
    /// Always builds all of them: together they share one virtual GPU; separately, each would compile it with
    /// different features.
    fn new(release: bool) -> Result<Built> {
        Self::from(release, build(release))
    }

    /// All of them, with kernels for only the tests' devices, so that the tests need not compile them again.
    fn for_tests() -> Result<Built> {
        let mut command = build(false);
        for_test_devices(&mut command);
        Self::from(false, command)
    }

    fn from(release: bool, command: Command) -> Result<Built> {
        let messages = watched(command)?;
        Ok(Built { release, archives: archives(&messages), program: program(&messages) })
    }

    /// Links one below the common folder.
    fn link(&self, made: Library, all: &Path) -> Result<PathBuf> {
        let archive = self.archives.get(made.target);
        let archive = archive.with_context(|| format!("cargo made no static library of {}", made.package))?;
        let script = tools::workspace().join(made.script);
        let soname = made.library.soname;
        let drop_in = DropIn { archive, script: &script, soname, strip: self.release };
        Ok(drop_in.link(&made.library.folder_in(all))?)
    }

    /// Links one in the default folder of this profile; returns its folder.
    fn linked(&self, made: Library) -> Result<PathBuf> {
        let all = folder_of(self.release);
        self.link(made, &all)?;
        Ok(made.library.folder_in(&all))
    }

    /// Links the libraries of the virtual GPU; returns their folder.
    fn link_virtual(&self) -> Result<PathBuf> {
        for library in libraries::VIRTUAL {
            self.linked(Library::of(library)?)?;
        }
        Ok(libraries::HSA.folder_in(&folder_of(self.release)))
    }
}

/// Runs Cargo and returns its messages. Shows progress, because the virtual GPU's executor takes minutes.
fn watched(mut command: Command) -> Result<String> {
    let cargo = command.stderr(Stdio::inherit()).stdout(Stdio::piped()).spawn();
    let mut cargo = cargo.with_context(|| format!("cannot start {}", run::describe(&command)))?;
    let heading = "Building the libraries";
    let spinner = progress::spinner(heading);
    let mut compiled = 0;
    let mut messages = String::new();
    let output = cargo.stdout.take().context("Cargo's messages are piped")?;
    for line in BufReader::new(output).lines() {
        let line = line.context("read Cargo's messages")?;
        if let Some(name) = compiled_crate(&line) {
            compiled += 1;
            spinner.set_message(format!("{heading}: {compiled} crates compiled, the last one {name}"));
        }
        messages.push_str(&line);
        messages.push('\n');
    }
    let status = cargo.wait().context("wait for Cargo")?;
    spinner.finish_and_clear();
    if !status.success() {
        bail!("{} failed ({status})", run::describe(&command));
    }
    Ok(messages)
}

/// The crate in one of Cargo's messages, if it was just compiled.
fn compiled_crate(message: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Message {
        target: Target,
        fresh: bool,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let message: Message = serde_json::from_str(message).ok()?;
    (!message.fresh).then_some(message.target.name)
}

/// The program in Cargo's messages.
fn program(messages: &str) -> Option<PathBuf> {
    #[derive(Deserialize)]
    struct Message {
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
        kind: Vec<String>,
    }
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let mut programs =
        messages.filter(|message| message.target.name == PROGRAM && message.target.kind == ["bin"]);
    programs.find_map(|message| message.executable)
}

/// The static libraries in Cargo's messages, by target name.
fn archives(messages: &str) -> HashMap<String, PathBuf> {
    /// The relevant part of a message.
    #[derive(Deserialize)]
    struct Message {
        target: Target,
        filenames: Vec<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    let files = messages.flat_map(|message| {
        let archives =
            message.filenames.into_iter().filter(|file| file.extension().is_some_and(|e| e == "a"));
        archives.map(|file| (message.target.name.clone(), file)).collect::<Vec<_>>()
    });
    files.collect()
}

/// With the tests' profile, this builds some tests.
fn build(release: bool) -> Command {
    let mut command = tools::cargo();
    if release {
        command.args(["build", "--release"]);
        let mut packages: Vec<&str> = ALL.iter().map(|library| library.package).collect();
        packages.dedup();
        for package in packages {
            command.args(["--package", package]);
        }
    } else {
        command.args(["test", "--no-run"]).args(tools::WHOLE);
        for test in TESTS {
            command.args(["--test", test]);
        }
    }
    command.args(["--quiet", "--message-format", "json-render-diagnostics"]);
    command.current_dir(tools::workspace());
    command
}

/// Like [`build`], with the program `ferrocm` and all its features.
fn build_with_program(release: bool) -> Command {
    let mut command = build(release);
    match release {
        true => command.args(["--package", PROGRAM, "--features", tools::FEATURES]),
        // Cargo builds the program for this test.
        false => command.args(["--test", "cli"]),
    };
    command
}

/// Quickly compiled integration tests of all the packages.
const TESTS: [&str; 2] = ["libraries", "symbols"];

fn usage(folder: &Path) -> String {
    format!("LD_LIBRARY_PATH={} FERROCM_DEVICE=vgpu:gfx1100 ./program", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_is_built_in_both_profiles() {
        assert!(run::describe(&build(true)).contains("build --release"));
        assert!(run::describe(&build(false)).contains("ferrocm/models --test libraries --test symbols"));
        for library in ALL {
            let folder = Path::new(library.script).parent().unwrap().join("tests");
            let tests = TESTS.map(|test| tools::workspace().join(&folder).join(test).with_extension("rs"));
            assert!(tests.iter().any(|test| test.is_file()), "{}", library.package);
            assert!(run::describe(&build(true)).contains(library.package));
        }
    }

    #[test]
    fn static_libraries_are_found_in_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"name":"rocm_smi","kind":["staticlib","rlib"]},"filenames":["/t/librocm_smi.rlib","/t/librocm_smi-1.a"]}
{"reason":"build-script-executed","package_id":"x","out_dir":"/t/out"}
{"reason":"compiler-artifact","target":{"name":"libraries","kind":["test"]},"filenames":["/t/libraries-2"]}
{"reason":"build-finished","success":true}"#;
        let found = archives(messages);
        assert_eq!(found, HashMap::from([("rocm_smi".to_owned(), PathBuf::from("/t/librocm_smi-1.a"))]));
        assert_eq!(program(messages), None);
        let more = r#"{"reason":"compiler-artifact","target":{"name":"ferrocm","kind":["bin"]},"filenames":["/t/ferrocm"],"executable":"/t/ferrocm"}"#;
        assert_eq!(program(&format!("{messages}\n{more}")), Some(PathBuf::from("/t/ferrocm")));
    }

    #[test]
    fn progress_counts_what_was_compiled() {
        let message = |fresh: bool| {
            let rest = r#""target":{"name":"vgpu","kind":["lib"]},"filenames":[]}"#;
            format!(r#"{{"reason":"compiler-artifact","fresh":{fresh},{rest}"#)
        };
        assert_eq!(compiled_crate(&message(false)).as_deref(), Some("vgpu"));
        assert_eq!(compiled_crate(&message(true)), None);
        assert_eq!(compiled_crate(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn cargos_messages_are_read_and_its_failure_is_told() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two"]);
        assert_eq!(watched(command).expect("succeeds"), "one\ntwo\n");
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        assert!(watched(command).expect_err("fails").to_string().contains("exit status: 3"));
    }

    #[test]
    fn what_is_linked_is_where_the_crates_have_it() {
        for library in ALL {
            assert!(tools::workspace().join(library.script).is_file(), "{}", library.script);
        }
        assert!(usage(Path::new("/a/b")).starts_with("LD_LIBRARY_PATH=/a/b "));
    }
}
