//! hipcc: compiles and links HIP programs with the toolchain that was found or installed.
//!
//! clang does the work. It gets the places of headers, device libraries and the HIP library, the language of
//! each file, and this machine's targets. All other options are passed on unchanged.

mod arguments;
pub mod bundler;
pub(crate) mod folder;

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use device_compiler::toolchain::Toolchain;

use self::arguments::{Call, Question};
pub use self::bundler::NAME as BUNDLER;

/// The library that programs are linked with.
pub const HIP_LIBRARY: &str = "libamdhip64.so.7";
/// Names the folder of this project's libraries if they are not beside the program.
pub const LIBRARIES_VARIABLE: &str = variables::LIBRARIES.name;
/// The longest command line passed to clang directly; longer ones are passed in a file.
const LONGEST: usize = 96 << 10;
/// A sum of flags: 1 shows commands, 2 places, 4 the arguments.
const VERBOSE: &str = "HIPCC_VERBOSE";
/// Targets for programs that name none, instead of this machine's.
const TARGETS: &str = "HCC_AMDGPU_TARGET";
/// With 0, C++ sources are compiled as C++.
const CXX_IS_HIP: &str = "HIP_COMPILE_CXX_AS_HIP";
/// Further options for compiling, and for linking.
const COMPILE_FLAGS: &str = "HIPCC_COMPILE_FLAGS_APPEND";
const LINK_FLAGS: &str = "HIPCC_LINK_FLAGS_APPEND";

/// Why nothing was compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something cannot be read, written or created.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The attempted action.
        doing: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Response files refer to each other.
    #[error("{} is one of too many nested response files", path.display())]
    Nested {
        /// The last one.
        path: PathBuf,
    },
    /// Kernels of several sources cannot be linked with each other with this toolchain.
    #[error(
        "-fgpu-rdc takes LLVM's own {BUNDLER} and llvm-objcopy, which {} does not have beside it. Debian's packages clang-tools-22 and \
         llvm-22 have them for a clang of the system, and so has ROCm. Without -fgpu-rdc, each source's kernels call only functions that \
         the source has itself, such as those of its headers", clang.display()
    )]
    Relocatable {
        /// The compiler.
        clang: PathBuf,
    },
    /// The static library of the runtime cannot be made.
    #[error("cannot make a static library that loads {}: {reason}", library.display())]
    Runtime {
        /// The HIP library.
        library: PathBuf,
        /// Why not.
        reason: String,
    },
    /// There is no library to link with.
    #[error(
        "there is no {HIP_LIBRARY} to link the program with: neither beside this program, nor in a ROCm. The packages of ferrocm have it; \
         {LIBRARIES_VARIABLE} names a folder that has it, such as one that `cargo xtask dropin` made. With -c, nothing is linked"
    )]
    NoLibrary,
}

pub(crate) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { doing, path, source }
}

/// The parts for making a program.
#[derive(Debug, Clone, Copy)]
pub struct Parts<'a> {
    /// The compiler and its parts.
    pub toolchain: &'a Toolchain,
    /// The HIP library that programs are linked with and run on, as [`library`] finds it.
    pub library: Option<&'a Path>,
    /// This program, which the folder's scripts call.
    pub program: &'a Path,
    /// The targets of this machine's devices, used if none are named.
    pub targets: &'a [String],
}

/// The HIP library in the folder of this project's libraries, if there is one, else that of the toolchain's
/// ROCm.
#[must_use]
pub fn library(own: Option<&Path>, toolchain: &Toolchain) -> Option<PathBuf> {
    let rocm = toolchain.hip_path.join("lib");
    let folders = own.into_iter().chain(std::iter::once(rocm.as_path()));
    folders.map(|folder| folder.join(HIP_LIBRARY)).find(|library| library.is_file())
}

/// Whether the compiler has LLVM's own bundler beside it.
fn has_own_bundler(toolchain: &Toolchain) -> bool {
    beside(toolchain, BUNDLER)
}

fn beside(toolchain: &Toolchain, name: &str) -> bool {
    let real = fs::canonicalize(&toolchain.clang).unwrap_or_else(|_| toolchain.clang.clone());
    real.parent().is_some_and(|folder| folder.join(name).is_file())
}

/// hipcc on one machine.
#[derive(Debug)]
pub struct Hipcc<'a> {
    parts: Parts<'a>,
    folder: PathBuf,
}

/// The name under which it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Like AMD's hipcc: C++ sources are HIP, programs are linked with the HIP library.
    Hipcc,
    /// As clang, which only gets the places of headers and device libraries.
    Clang,
    /// As clang++.
    ClangCxx,
}

/// The action for a command line.
#[derive(Debug)]
pub enum Task {
    /// Run this command. The file, if any, holds its arguments and must be kept meanwhile.
    Run(Box<Command>, Option<tempfile::NamedTempFile>),
    /// Print only the version of HIP.
    Print(String),
}

impl<'a> Hipcc<'a> {
    /// Creates the folder for build systems below the cache folder `cache`, if it is missing.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn new(parts: Parts<'a>, cache: &Path) -> Result<Self, Error> {
        Ok(Self { parts, folder: folder::make(cache, &parts)? })
    }

    /// The folder with ROCm's layout.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The compiler's folder in it.
    #[must_use]
    pub fn compilers(&self) -> PathBuf {
        self.folder.join(folder::COMPILERS)
    }

    /// The version of HIP.
    #[must_use]
    pub fn version(&self) -> String {
        self.parts.toolchain.hip_version.to_string()
    }

    /// The action for a command line of hipcc.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn task(&self, mode: Mode, given: &[OsString]) -> Result<Task, Error> {
        let flags =
            |name: &str| arguments::split(std::env::var_os(name).unwrap_or_default().as_encoded_bytes());
        let native = self.parts.targets;
        if mode != Mode::Hipcc {
            return self.run(
                mode,
                Vec::new(),
                arguments::with_native(given.to_vec(), native),
                Vec::new(),
                false,
            );
        }
        let is_off = std::env::var_os(CXX_IS_HIP).is_some_and(|value| value == "0");
        let mut all = given.to_vec();
        all.extend(flags(COMPILE_FLAGS));
        let call = Call::parse(&all, !is_off)?;
        match call.question {
            Some(Question::ShortVersion) => return Ok(Task::Print(self.version())),
            Some(Question::Version) => {
                let _ = writeln!(io::stdout(), "HIP version: {}", self.version());
            }
            None => {}
        }
        let toolchain = self.parts.toolchain;
        if call.is_relocatable
            && call.has_input
            && !(has_own_bundler(toolchain) && beside(toolchain, "llvm-objcopy"))
        {
            return Err(Error::Relocatable { clang: toolchain.clang.clone() });
        }
        let named = std::env::var(TARGETS).unwrap_or_default();
        let named: Vec<String> =
            named.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let defaults = call.defaults(if named.is_empty() { self.parts.targets } else { &named });
        let mut last = Vec::new();
        if call.links && call.has_input && call.question.is_none() {
            last = self.link()?;
            last.extend(flags(LINK_FLAGS));
        }
        let given = arguments::with_native(call.arguments, native);
        self.run(mode, defaults, given, last, call.has_response_file)
    }

    /// Whether a command line needs this machine's targets, which take time to determine.
    #[must_use]
    pub fn needs_targets(mode: Mode, given: &[OsString]) -> bool {
        if mode != Mode::Hipcc {
            return given.iter().any(|argument| arguments::is_native(argument));
        }
        let is_named = std::env::var_os(TARGETS).is_some_and(|value| !value.is_empty());
        Call::parse(given, true).is_ok_and(|call| {
            call.arguments.iter().any(|argument| arguments::is_native(argument))
                || !is_named && call.needs_targets()
        })
    }

    /// A call of clang in an environment without settings for other compilers.
    pub(crate) fn command(&self) -> Command {
        let toolchain = self.parts.toolchain;
        let mut command = Command::new(&toolchain.clang);
        for name in ["HIP_PATH", "ROCM_PATH", "HIP_CLANG_PATH", "HIP_DEVICE_LIB_PATH"] {
            command.env_remove(name);
        }
        if !toolchain.library_path.is_empty() {
            let before = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
            let before = std::env::split_paths(&before).filter(|part| !part.as_os_str().is_empty());
            let folders = toolchain.library_path.iter().cloned().chain(before);
            command.env("LD_LIBRARY_PATH", std::env::join_paths(folders).unwrap_or_default());
        }
        command
    }

    /// clang's options for the places of HIP, the device libraries and the programs that it calls.
    pub(crate) fn places(&self) -> Vec<OsString> {
        let toolchain = self.parts.toolchain;
        let option = |text: &str, path: &Path| {
            let mut option = OsString::from(text);
            option.push(path);
            option
        };
        let mut options = toolchain.args.clone();
        options.extend([
            option("--hip-path=", &self.folder),
            option("--rocm-path=", &self.folder),
            option("--rocm-device-lib-path=", &toolchain.device_libs),
            // Where clang looks for the programs that it calls.
            option("-B", &self.compilers()),
        ]);
        options
    }

    /// The parts that it was made of.
    pub(crate) fn parts(&self) -> &Parts<'a> {
        &self.parts
    }

    /// The options that link a program with the HIP library and let it find the library at run time.
    fn link(&self) -> Result<Vec<OsString>, Error> {
        let library = self.parts.library.ok_or(Error::NoLibrary)?;
        let option = |text: &str, path: &Path| {
            let mut option = OsString::from(text);
            option.push(path);
            option
        };
        let place = library.parent().unwrap_or(Path::new("/"));
        Ok(vec![
            option("-L", &self.folder.join("lib")),
            "-lamdhip64".into(),
            // With this, `LD_LIBRARY_PATH` takes precedence.
            "-Wl,--enable-new-dtags".into(),
            "-Xlinker".into(),
            option("-rpath=", place),
        ])
    }

    fn run(
        &self,
        mode: Mode,
        defaults: Vec<OsString>,
        given: Vec<OsString>,
        last: Vec<OsString>,
        in_file: bool,
    ) -> Result<Task, Error> {
        let mut command = self.command();
        if mode != Mode::Clang {
            command.arg("--driver-mode=g++");
        }
        let mut arguments: Vec<OsString> = vec!["--start-no-unused-arguments".into()];
        arguments.extend(self.places());
        if mode == Mode::Hipcc {
            // C sources that include HIP's headers must name the platform.
            arguments.push("-D__HIP_PLATFORM_AMD__=1".into());
            arguments.extend(["-idirafter".into(), self.folder.join("include").into()]);
        }
        arguments.extend(defaults);
        arguments.push("--end-no-unused-arguments".into());
        arguments.extend(given);
        arguments.extend(last);
        let length: usize = arguments.iter().map(|argument| argument.len() + 1).sum();
        let mut kept = None;
        if in_file && length > LONGEST {
            let folder = std::env::temp_dir();
            let file = tempfile::Builder::new().prefix("hipcc-").suffix(".rsp").tempfile();
            let mut file = file.map_err(io_error("create a file in", &folder))?;
            file.write_all(&arguments::join(&arguments)).map_err(io_error("write", file.path()))?;
            let mut option = OsString::from("@");
            option.push(file.path());
            command.arg(option);
            kept = Some(file);
        } else {
            command.args(&arguments);
        }
        Ok(Task::Run(Box::new(command), kept))
    }
}

impl Task {
    /// Performs the task. Becomes clang if there is nothing to clean up afterwards. Returns the exit status.
    ///
    /// # Errors
    /// [`Error::Io`] if clang cannot be started.
    pub fn perform(self) -> Result<u8, Error> {
        match self {
            Self::Print(text) => {
                let _ = writeln!(io::stdout(), "{text}");
                Ok(0)
            }
            Self::Run(mut command, kept) => {
                let clang = PathBuf::from(command.get_program());
                match kept {
                    None => Err(io_error("start", &clang)(command.exec())),
                    Some(_file) => {
                        let status = command.status().map_err(io_error("start", &clang))?;
                        Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
                    }
                }
            }
        }
    }
}

/// Prints what `HIPCC_VERBOSE` requests, like AMD's hipcc: 1 shows the command, 2 places, 4 the arguments.
pub fn tell(hipcc: &Hipcc<'_>, given: &[OsString], task: &Task) {
    let level = std::env::var(VERBOSE).ok().and_then(|level| level.trim().parse().ok()).unwrap_or(0);
    let text = told(level, hipcc, given, task);
    let _ = io::stdout().write_all(text.as_bytes());
}

fn told(level: u32, hipcc: &Hipcc<'_>, given: &[OsString], task: &Task) -> String {
    let mut text = String::new();
    if level & 2 != 0 {
        let clang = hipcc.compilers();
        for (name, path) in
            [("HIP_PATH", hipcc.folder()), ("ROCM_PATH", hipcc.folder()), ("HIP_CLANG_PATH", &clang)]
        {
            text.push_str(&format!("{name}={}\n", path.display()));
        }
    }
    if level & 4 != 0 {
        let words: Vec<_> = given.iter().map(|word| word.to_string_lossy()).collect();
        text.push_str(&format!("hipcc-args: {}\n", words.join(" ")));
    }
    if let (true, Task::Run(command, _)) = (level & 1 != 0, task) {
        text.push_str(&format!("hipcc-cmd: {}\n", crate::run::describe(command)));
    }
    text
}

/// The answers of `hipconfig`, by option; without an option, it prints the first.
pub fn config(hipcc: &Hipcc<'_>, option: &str) -> Option<String> {
    let folder = hipcc.folder().display().to_string();
    let include = hipcc.folder().join("include").display().to_string();
    Some(match option {
        "--path" | "-p" | "--rocmpath" | "-R" => folder,
        "--version" | "-v" => hipcc.version(),
        "--cpp_config" | "-C" => format!("-D__HIP_PLATFORM_AMD__= -I{include}"),
        "--platform" | "-P" => "amd".to_owned(),
        "--compiler" | "-c" => "clang".to_owned(),
        "--runtime" | "-r" => "rocclr".to_owned(),
        "--hipclangpath" | "-l" => hipcc.compilers().display().to_string(),
        "--targets" => hipcc.parts.targets.join("\n"),
        _ => return None,
    })
}

/// The program that [`try_out`] compiles: kernels, their call from the host, and the library.
const PROBE: &str = include_str!("hipcc/probe_host.hip");

/// Compiles a program, and links and runs it if there is a library. Returns what was done.
///
/// # Errors
/// The failed step, and the message of the compiler or program.
pub fn try_out(hipcc: &Hipcc<'_>) -> Result<&'static str, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("probe.hip"), PROBE).map_err(|error| error.to_string())?;
    let output = if hipcc.parts.library.is_some() { at("probe") } else { at("probe.o") };
    let mut arguments: Vec<OsString> = vec![at("probe.hip").into(), "-o".into(), output.clone().into()];
    if hipcc.parts.library.is_none() {
        arguments.push("-c".into());
    }
    let task = hipcc.task(Mode::Hipcc, &arguments).map_err(|error| error.to_string())?;
    let Task::Run(mut command, _kept) = task else { return Err("there is nothing to run".to_owned()) };
    crate::run::capture(&mut command).map_err(|error| error.to_string())?;
    if hipcc.parts.library.is_none() {
        return Ok("compiles a program, but there is no library to link with");
    }
    let said = crate::run::capture(&mut Command::new(&output)).map_err(|error| error.to_string())?;
    match said.trim() {
        "ok" => Ok("compiles, links and runs a program"),
        other => Err(format!("the program prints \"{other}\" instead of \"ok\"")),
    }
}

#[cfg(test)]
pub(crate) mod fixtures {
    use device_compiler::toolchain::{Origin, Toolchain, Version};

    /// A toolchain that does not exist.
    pub(crate) fn toolchain() -> Toolchain {
        let version = |major, minor, patch| Version { major, minor, patch };
        Toolchain {
            origin: Origin::System,
            clang: "/no/llvm/bin/clang".into(),
            version: version(22, 1, 8),
            version_text: "clang version 22.1.8".to_owned(),
            linker: "/no/llvm/bin/ld.lld".into(),
            hip_path: "/no/hip".into(),
            hip_version: version(7, 2, 4),
            device_libs: "/no/bitcode".into(),
            cxx_headers: "/no/c++".into(),
            hipify: None,
            library_path: vec!["/no/lib".into()],
            args: vec!["-isystem/no/c++".into()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The command for a command line of hipcc.
    fn command(mode: Mode, library: Option<&Path>, line: &[&str]) -> Result<String, Error> {
        let toolchain = fixtures::toolchain();
        let cache = tempfile::tempdir().expect("folder");
        let targets = ["gfx1100".to_owned()];
        let parts =
            Parts { toolchain: &toolchain, library, program: Path::new("/bin/ferrocm"), targets: &targets };
        let hipcc = Hipcc::new(parts, cache.path()).expect("a folder");
        let given: Vec<OsString> = line.iter().map(OsString::from).collect();
        match hipcc.task(mode, &given)? {
            Task::Print(text) => Ok(text),
            Task::Run(command, _) => {
                let text = crate::run::describe(&command);
                Ok(text.replace(&hipcc.folder().display().to_string(), "FOLDER"))
            }
        }
    }

    const LIBRARY: &str = "/our/lib/libamdhip64.so.7";

    #[test]
    fn programs_are_compiled_for_this_machine_and_linked_with_the_library() {
        let all =
            command(Mode::Hipcc, Some(Path::new(LIBRARY)), &["a.cpp", "-fsome-flag"]).expect("a command");
        assert!(
            all.starts_with("/no/llvm/bin/clang --driver-mode=g++ --start-no-unused-arguments "),
            "{all}"
        );
        assert!(all.contains(" --hip-path=FOLDER --rocm-path=FOLDER "), "{all}");
        assert!(
            all.contains(" --offload-arch=gfx1100 -O3 --end-no-unused-arguments -x hip a.cpp -fsome-flag "),
            "{all}"
        );
        assert!(
            all.ends_with(" -LFOLDER/lib -lamdhip64 -Wl,--enable-new-dtags -Xlinker -rpath=/our/lib"),
            "{all}"
        );
        let object = command(Mode::Hipcc, None, &["-c", "a.cpp"]).expect("needs no library");
        assert!(object.ends_with(" -c -x hip a.cpp"), "{object}");
        let error = command(Mode::Hipcc, None, &["a.o"]).expect_err("no library").to_string();
        assert!(error.contains("there is no libamdhip64.so.7 to link"), "{error}");
        let clang = command(Mode::ClangCxx, None, &["a.cpp"]).expect("a command");
        assert!(clang.ends_with(" -BFOLDER/llvm/bin --end-no-unused-arguments a.cpp"), "{clang}");
    }

    #[test]
    fn what_this_clang_cannot_do_is_said_before_it_is_called() {
        let error =
            command(Mode::Hipcc, None, &["-fgpu-rdc", "-c", "a.cpp"]).expect_err("no bundler").to_string();
        assert!(error.contains("-fgpu-rdc takes") && error.contains("clang-tools-22"), "{error}");
    }

    #[test]
    fn questions_are_answered() {
        assert_eq!(command(Mode::Hipcc, None, &["--short-version"]).expect("answered"), "7.2.4");
        let toolchain = fixtures::toolchain();
        let cache = tempfile::tempdir().expect("folder");
        let targets = ["gfx1100".to_owned(), "gfx90a".to_owned()];
        let parts = Parts {
            toolchain: &toolchain,
            library: None,
            program: Path::new("/bin/ferrocm"),
            targets: &targets,
        };
        let hipcc = Hipcc::new(parts, cache.path()).expect("a folder");
        assert_eq!(config(&hipcc, "--targets").as_deref(), Some("gfx1100\ngfx90a"));
        assert_eq!(config(&hipcc, "--version").as_deref(), Some("7.2.4"));
        assert_eq!(config(&hipcc, "--path"), Some(hipcc.folder().display().to_string()));
        assert_eq!(config(&hipcc, "--what"), None);
        let given = ["a.hip".into(), "-c".into()];
        let task = hipcc.task(Mode::Hipcc, &given).expect("a command");
        assert_eq!(told(0, &hipcc, &given, &task), "");
        let all = told(7, &hipcc, &given, &task);
        assert!(all.contains("hipcc-cmd: /no/llvm") && all.contains("hipcc-args: a.hip -c\n"), "{all}");
        assert!(all.contains("HIP_PATH="), "{all}");
    }

    #[test]
    fn long_command_lines_go_in_a_file() {
        let toolchain = fixtures::toolchain();
        let cache = tempfile::tempdir().expect("folder");
        let parts =
            Parts { toolchain: &toolchain, library: None, program: Path::new("/bin/ferrocm"), targets: &[] };
        let hipcc = Hipcc::new(parts, cache.path()).expect("a folder");
        let list = cache.path().join("list");
        let words: Vec<String> = (0..20_000).map(|i| format!("-DA{i}='x y'")).collect();
        fs::write(&list, words.join("\n")).expect("write");
        let given = ["-c".into(), "a.hip".into(), OsString::from(format!("@{}", list.display()))];
        let Task::Run(command, Some(file)) = hipcc.task(Mode::Hipcc, &given).expect("a command") else {
            panic!("no file");
        };
        assert!(command.get_args().any(|argument| argument.as_encoded_bytes().starts_with(b"@")));
        let written = arguments::split(&fs::read(file.path()).expect("the file"));
        assert!(written.contains(&"-DA19999=x y".into()) && written.contains(&"-c".into()));
    }
}
