//! Parses nvcc's command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use device_compiler::nvcc::options::{self, Argument, Kind, Phase, Role, Row};
use device_compiler::nvcc::response;

use super::{Error, toolkit};

/// The language of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Cuda,
    Cxx,
    C,
    /// Preprocessed C or C++, which the host's compiler knows by its name.
    Preprocessed,
}

/// A file on the command line, or what it is linked with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// A file to compile.
    Source(PathBuf, Language),
    /// An object file, a static or a shared library.
    Object(PathBuf),
    /// A library to search for.
    Library(OsString),
    /// An option for the linker.
    Linker(OsString),
}

/// A list of the files that a source reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Dependencies {
    /// Whether it is written, and whether without system headers.
    pub(super) kind: Option<DependencyKind>,
    pub(super) file: Option<PathBuf>,
    pub(super) target: Option<OsString>,
    pub(super) has_empty_targets: bool,
}

/// Which files are listed, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DependencyKind {
    /// Only the list is made: `-M`.
    All,
    /// The same without system headers: `-MM`.
    Own,
    /// The list is made beside the output: `-MD`.
    AllBeside,
    /// The same without system headers: `-MMD`.
    OwnBeside,
}

/// Which runtime a program is linked with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Runtime {
    None,
    Shared,
    #[default]
    Static,
}

/// A question instead of compiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Help,
    Version,
    ListCode,
    ListArch,
    Toolkit,
}

/// A command line.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) phase: Option<Phase>,
    pub(super) question: Option<Question>,
    pub(super) inputs: Vec<Input>,
    pub(super) output: Option<PathBuf>,
    pub(super) folder: Option<PathBuf>,
    /// Options of every compiler: macros, folders of headers, the standard.
    pub(super) common: Vec<OsString>,
    /// Options of clang for CUDA sources.
    pub(super) cuda: Vec<OsString>,
    /// Options of clang for device code.
    pub(super) device: Vec<OsString>,
    /// Options of the host's compiler and linker driver.
    pub(super) host: Vec<OsString>,
    pub(super) archiver_options: Vec<OsString>,
    pub(super) library_folders: Vec<PathBuf>,
    /// AMD's targets, as named. `native` is this machine's.
    pub(super) targets: Vec<String>,
    pub(super) is_relocatable: bool,
    pub(super) skips_device_link: bool,
    pub(super) dependencies: Dependencies,
    pub(super) runtime: Runtime,
    pub(super) host_compiler: Option<PathBuf>,
    pub(super) archiver: Option<PathBuf>,
    pub(super) is_dry: bool,
    pub(super) is_verbose: bool,
    pub(super) cleans: bool,
    pub(super) checks_only: bool,
    pub(super) keep: Option<PathBuf>,
    pub(super) threads: usize,
    pub(super) times: Option<PathBuf>,
    pub(super) run_arguments: Vec<OsString>,
    /// Folders of headers that do not exist.
    pub(super) missing: Vec<PathBuf>,
    /// The first word that is neither an option nor a file to compile or to link.
    pub(super) strange: Option<OsString>,
}

const CUDA: [&str; 2] = ["cu", "cuh"];
const CXX: [&str; 6] = ["C", "c++", "cc", "cp", "cpp", "cxx"];
const PREPROCESSED: [&str; 2] = ["i", "ii"];
const OBJECTS: [&str; 4] = ["a", "lib", "o", "obj"];
/// Code for NVIDIA GPUs, or for AMD's in a file that this program wrote.
const DEVICE_CODE: [&str; 5] = ["cubin", "fatbin", "gpu", "ltoir", "ptx"];
/// Options that make the host's compiler say something of itself, and compile nothing.
const HOST_QUESTIONS: [&str; 5] = ["--help", "--version", "-dumpfullversion", "-dumpmachine", "-dumpversion"];
/// Variables with further options, before and behind the given ones.
pub(super) const PREPEND: &str = "NVCC_PREPEND_FLAGS";
pub(super) const APPEND: &str = "NVCC_APPEND_FLAGS";
/// The host's compiler, unless an option names it.
pub(super) const HOST_COMPILER: &str = "NVCC_CCBIN";

impl Call {
    /// Reads a command line, with what the variables add. Paths in earlier toolkits are those in `toolkit`.
    ///
    /// # Errors
    /// An option is not known, refused, or lacks its argument.
    pub(super) fn parse(given: &[OsString], toolkit: Option<&Path>) -> Result<Self, Error> {
        let variable =
            |name: &str| response::split(std::env::var_os(name).unwrap_or_default().as_encoded_bytes());
        let mut all = variable(PREPEND);
        all.extend_from_slice(given);
        all.extend(variable(APPEND));
        let mut words = response::expand(&all)?;
        for word in &mut words {
            if let Some(current) = toolkit.and_then(|toolkit| toolkit::in_toolkit(word, toolkit)) {
                *word = current;
            }
        }
        let is = |name: &str| {
            options::each(&words).any(|word| matches!(word.kind, Kind::Option(row, _) if row.long == name))
        };
        let (to_compiler, to_linker) = (
            is("forward-unknown-to-host-compiler") || is("forward-unknown-opts"),
            is("forward-unknown-to-host-linker") || is("forward-unknown-opts"),
        );
        let mut call = Self { threads: 1, host_compiler: None, ..Self::default() };
        call.host_compiler =
            std::env::var_os(HOST_COMPILER).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut language = None;
        let mut files = Vec::new();
        for word in options::each(&words) {
            match word.kind {
                Kind::File => {
                    files.push(call.inputs.len());
                    call.inputs.push(Input::Object(PathBuf::from(&word.words[0])));
                }
                Kind::Unknown if to_compiler => call.host.push(word.words[0].clone()),
                Kind::Unknown if to_linker => call.inputs.push(Input::Linker(word.words[0].clone())),
                Kind::Unknown => return Err(Error::Unknown { option: text(&word.words[0]) }),
                Kind::Option(row, value) => {
                    if row.argument != Argument::None && value.is_none() {
                        return Err(Error::NoArgument { option: text(&word.words[0]) });
                    }
                    let value = value.unwrap_or_default();
                    if row.long == "x" {
                        language = Some(value);
                    } else {
                        call.option(row, &value)?;
                    }
                }
            }
        }
        for at in files {
            let Input::Object(path) = &call.inputs[at] else { continue };
            let input = classify(path, language.as_deref())?;
            match input {
                Some(input) => call.inputs[at] = input,
                None => {
                    let path = path.clone();
                    call.strange.get_or_insert(path.into_os_string());
                }
            }
        }
        Ok(call)
    }

    fn option(&mut self, row: &'static Row, value: &OsStr) -> Result<(), Error> {
        let bad = |value: &OsStr| Error::Value { option: row.long, value: text(value) };
        let list = || options::values(value);
        match row.role {
            Role::Ignored => {}
            Role::Refused => return Err(Error::Refused { option: row.long, reason: row.note }),
            Role::Phase(phase) => {
                match row.long {
                    "device-c" => self.is_relocatable = true,
                    "device-w" => self.is_relocatable = false,
                    "generate-dependencies" => self.dependencies.kind = Some(DependencyKind::All),
                    "generate-nonsystem-dependencies" => self.dependencies.kind = Some(DependencyKind::Own),
                    _ => {}
                }
                // `-dlink -shared`, `-c -ptx`: device code and its link say more than the default phases.
                let is_weaker =
                    |old: Phase| matches!(phase, Phase::Compile | Phase::Link) && old != Phase::Link;
                if !self.phase.is_some_and(is_weaker) {
                    self.phase = Some(phase);
                }
            }
            Role::Renamed(_) | Role::Errors => {
                let options = options::for_clang(row, Some(value)).unwrap_or_default();
                if matches!(row.long, "include-path" | "system-include") {
                    let missing = list().into_iter().map(PathBuf::from).filter(|folder| !folder.exists());
                    self.missing.extend(missing);
                }
                match row.long {
                    "optimize" => self.host.extend(options),
                    _ => self.common.extend(options),
                }
            }
            Role::Instead(options) => {
                let for_all = matches!(row.long, "debug" | "disable-warnings");
                let wanted = if for_all { &mut self.common } else { &mut self.cuda };
                wanted.extend(options.iter().map(OsString::from));
            }
            Role::Switch(..) => {
                self.cuda.extend(options::for_clang(row, Some(value)).ok_or_else(|| bad(value))?);
            }
            Role::Architecture => self.architecture(row, value)?,
            Role::Host => match row.long {
                "library" => self.inputs.extend(list().into_iter().map(Input::Library)),
                "library-path" => self.library_folders.extend(list().into_iter().map(PathBuf::from)),
                "compiler-bindir" => self.host_compiler = Some(value.into()),
                "archiver-binary" => self.archiver = Some(value.into()),
                "profile" => self.host.push("-pg".into()),
                "shared" => self.inputs.push(Input::Linker("-shared".into())),
                "compiler-options" => self.host.extend(options::words(value)),
                "linker-options" => {
                    for option in options::words(value) {
                        self.inputs.push(Input::Linker("-Xlinker".into()));
                        self.inputs.push(Input::Linker(option));
                    }
                }
                _ => self.archiver_options.extend(options::words(value)),
            },
            Role::Place => match row.long {
                "output-file" => self.output = Some(value.into()),
                "output-directory" => self.folder = Some(value.into()),
                "keep-dir" => self.keep = Some(value.into()),
                _ => {
                    self.keep.get_or_insert_with(|| PathBuf::from("."));
                }
            },
            Role::Driver => self.driver(row, value, bad)?,
        }
        Ok(())
    }

    fn driver(
        &mut self,
        row: &'static Row,
        value: &OsStr,
        bad: impl Fn(&OsStr) -> Error,
    ) -> Result<(), Error> {
        match row.long {
            "generate-dependencies-with-compile" => {
                self.dependencies.kind = Some(DependencyKind::AllBeside);
            }
            "generate-nonsystem-dependencies-with-compile" => {
                self.dependencies.kind = Some(DependencyKind::OwnBeside);
            }
            "dependency-output" => self.dependencies.file = Some(value.into()),
            "dependency-target-name" => self.dependencies.target = Some(value.to_owned()),
            "generate-dependency-targets" => self.dependencies.has_empty_targets = true,
            "cudart" => {
                self.runtime = match value.to_str() {
                    Some("none") => Runtime::None,
                    Some("shared") => Runtime::Shared,
                    Some("static") => Runtime::Static,
                    _ => return Err(bad(value)),
                };
            }
            "relocatable-device-code" => {
                self.is_relocatable = options::is_on(value).ok_or_else(|| bad(value))?;
            }
            "default-stream" => match value.to_str() {
                Some("per-thread") => self.cuda.push("-fgpu-default-stream=per-thread".into()),
                Some("legacy" | "null") => {}
                _ => return Err(bad(value)),
            },
            "threads" => {
                let count: usize =
                    value.to_str().and_then(|text| text.parse().ok()).ok_or_else(|| bad(value))?;
                let cores = || std::thread::available_parallelism().map_or(1, usize::from);
                self.threads = if count == 0 { cores() } else { count };
            }
            "machine" if value == "64" => {}
            "machine" => return Err(bad(value)),
            "no-device-link" => self.skips_device_link = true,
            "optimization-info" => self.device.push("-Rpass=inline".into()),
            "resource-usage" => self.device.push("-Rpass-analysis=kernel-resource-usage".into()),
            "fdevice-syntax-only" => self.checks_only = true,
            "dryrun" => self.is_dry = true,
            "verbose" => self.is_verbose = true,
            "clean-targets" => self.cleans = true,
            "time" => self.times = Some(value.into()),
            "run-args" => self.run_arguments.extend(options::words(value)),
            "help" => self.question = Some(Question::Help),
            "version" => self.question = Some(Question::Version),
            "list-gpu-code" => self.question = Some(Question::ListCode),
            "list-gpu-arch" => self.question = Some(Question::ListArch),
            "toolkit" => self.question = Some(Question::Toolkit),
            // Unknown options were looked for before, and device code always has lines.
            _ => {}
        }
        Ok(())
    }

    fn architecture(&mut self, row: &'static Row, value: &OsStr) -> Result<(), Error> {
        let value = value.to_string_lossy();
        let virtual_one = value.split("arch=").nth(1).and_then(|rest| rest.split(',').next());
        for name in options::architectures(&value).iter().map(String::as_str).chain(virtual_one) {
            if name.starts_with("gfx") || name == "native" {
                if !self.targets.iter().any(|known| known == name) {
                    self.targets.push(name.to_owned());
                }
            } else if row.long == "offload-arch" || !is_nvidias(name) {
                return Err(Error::Architecture { name: name.to_owned() });
            }
        }
        Ok(())
    }

    /// The phase that the options select.
    pub(super) fn phase(&self) -> Phase {
        self.phase.unwrap_or(Phase::Link)
    }

    /// The sources, in order.
    pub(super) fn sources(&self) -> impl Iterator<Item = (&Path, Language)> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Source(path, language) => Some((path.as_path(), *language)),
            _ => None,
        })
    }

    /// The options that ask the host's compiler of itself, as in `nvcc .c -Xcompiler --version`. The inputs
    /// do not count then.
    pub(super) fn host_questions(&self) -> Vec<&OsString> {
        let is_question = |option: &&OsString| HOST_QUESTIONS.iter().any(|question| *option == question);
        self.host.iter().filter(is_question).collect()
    }

    /// Whether this machine's targets are used.
    pub(super) fn needs_targets(&self) -> bool {
        let compiles = self.sources().any(|(_, language)| language == Language::Cuda)
            && !matches!(self.dependencies.kind, Some(DependencyKind::All | DependencyKind::Own));
        let is_native = self.targets.iter().any(|target| target == "native");
        let asks = self.question.is_some() || !self.host_questions().is_empty();
        !asks && (is_native || compiles && self.targets.is_empty())
    }
}

fn text(word: &OsStr) -> String {
    word.to_string_lossy().into_owned()
}

/// What a file is, by its name and the language that `-x` names. `None` if that is unknown.
fn classify(path: &Path, language: Option<&OsStr>) -> Result<Option<Input>, Error> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    if OBJECTS.contains(&extension) || extension == "so" || name.contains(".so.") {
        return Ok(Some(Input::Object(path.to_owned())));
    }
    let source = |language| Ok(Some(Input::Source(path.to_owned(), language)));
    match language.map(|language| language.to_str().unwrap_or_default()) {
        Some("cu") => return source(Language::Cuda),
        Some("c++") => return source(Language::Cxx),
        Some("c") => return source(Language::C),
        Some(other) => return Err(Error::Value { option: "x", value: other.to_owned() }),
        None => {}
    }
    match extension {
        _ if CUDA.contains(&extension) => source(Language::Cuda),
        _ if CXX.contains(&extension) => source(Language::Cxx),
        "c" => source(Language::C),
        _ if PREPROCESSED.contains(&extension) => source(Language::Preprocessed),
        _ if DEVICE_CODE.contains(&extension) => Err(Error::DeviceCode { path: path.to_owned() }),
        _ => Ok(None),
    }
}

/// Whether a name is one of NVIDIA's architectures: `sm_80`, `compute_90a`, `lto_75`, `all`.
fn is_nvidias(name: &str) -> bool {
    let number = ["sm_", "compute_", "lto_"].iter().find_map(|prefix| name.strip_prefix(prefix));
    let is_number = |number: &str| {
        let number = number.strip_suffix(['a', 'f']).unwrap_or(number);
        (2..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    };
    matches!(name, "all" | "all-major") || number.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Call {
        Call::parse(&response::split(line.as_bytes()), None).expect(line)
    }

    fn error(line: &str) -> String {
        Call::parse(&response::split(line.as_bytes()), None).expect_err(line).to_string()
    }

    fn words(list: &[OsString]) -> String {
        list.join(OsStr::new(" ")).into_string().expect("UTF-8")
    }

    #[test]
    fn a_line_of_cmake_is_understood() {
        let call = call(
            "-forward-unknown-to-host-compiler -DX=1 -I/tmp -isystem /usr/include -O3 -DNDEBUG -std=c++17 \
             \"--generate-code=arch=compute_52,code=[compute_52,sm_52]\" -Xcompiler=-fPIC -Wall -pthread -MD -MT a.o -MF a.o.d -x cu \
             -rdc=true -c a.cu -o a.o",
        );
        assert_eq!(words(&call.common), "-DX=1 -I/tmp -isystem /usr/include -DNDEBUG -std=c++17");
        assert_eq!(words(&call.host), "-O3 -fPIC -Wall -pthread");
        assert_eq!(call.inputs, [Input::Source("a.cu".into(), Language::Cuda)]);
        assert!(call.is_relocatable && call.targets.is_empty() && call.needs_targets());
        assert_eq!((call.phase(), call.output), (Phase::Compile, Some("a.o".into())));
        let list = Dependencies {
            kind: Some(DependencyKind::AllBeside),
            file: Some("a.o.d".into()),
            target: Some("a.o".into()),
            has_empty_targets: false,
        };
        assert_eq!(call.dependencies, list);
    }

    #[test]
    fn a_line_of_a_device_link_is_understood() {
        let call = call(
            "-Xcompiler=-fPIC -Wno-deprecated-gpu-targets -shared -dlink a.o libx.a -o d.o -L/lib -lcudadevrt -lm",
        );
        assert_eq!(call.phase(), Phase::DeviceLink);
        let libraries = [Input::Library("cudadevrt".into()), Input::Library("m".into())];
        assert!(call.inputs.ends_with(&libraries) && call.library_folders == [PathBuf::from("/lib")]);
        assert!(!call.needs_targets());
    }

    #[test]
    fn phases_and_languages() {
        for (line, phase) in [
            ("a.cu", Phase::Link),
            ("-c -ptx a.cu", Phase::Ptx),
            ("-ptx -c a.cu", Phase::Ptx),
            ("-dc a.cu", Phase::Compile),
            ("-E a.cu", Phase::Preprocess),
            ("-M a.cu", Phase::Dependencies),
            ("-lib a.cu", Phase::Library),
            ("-link -cubin a.cu", Phase::Cubin),
        ] {
            assert_eq!(call(line).phase(), phase, "{line}");
        }
        let inputs = call("-x cu a.cpp b.o c.txt libd.so.1").inputs;
        let source = |name: &str, language| Input::Source(name.into(), language);
        assert_eq!(
            inputs,
            [
                source("a.cpp", Language::Cuda),
                Input::Object("b.o".into()),
                source("c.txt", Language::Cuda),
                Input::Object("libd.so.1".into())
            ]
        );
        assert_eq!(
            call("a.cuh b.cc c.c d.ii").inputs,
            [
                source("a.cuh", Language::Cuda),
                source("b.cc", Language::Cxx),
                source("c.c", Language::C),
                source("d.ii", Language::Preprocessed)
            ]
        );
        assert_eq!(call("a.zz b.yy").strange, Some("a.zz".into()));
    }

    #[test]
    fn build_systems_ask_for_the_hosts_compiler() {
        assert_eq!(call(".c -Xcompiler --version").host_questions(), ["--version"]);
        let both = call(".c -Xcompiler \"-dumpfullversion -dumpversion\"");
        assert_eq!(both.host_questions(), ["-dumpfullversion", "-dumpversion"]);
        assert!(!call("-Xcompiler --version a.cu").needs_targets());
        assert!(call("-Xcompiler -fPIC a.cu").host_questions().is_empty());
    }

    #[test]
    fn targets_are_amds_and_nvidias_names_are_checked_only() {
        assert_eq!(call("-arch=sm_80 a.cu").targets, [""; 0]);
        assert_eq!(call("-arch=gfx1100 --offload-arch=gfx90a,gfx1100 a.cu").targets, ["gfx1100", "gfx90a"]);
        assert_eq!(call("-gencode arch=compute_80,code=gfx942 a.cu").targets, ["gfx942"]);
        assert_eq!(call("-arch native a.cu").targets, ["native"]);
        assert_eq!(call("-arch=all-major -code sm_90a,compute_100f a.cu").targets, [""; 0]);
        assert_eq!(error("-arch=sm_foo a.cu"), "Unsupported gpu architecture 'sm_foo'");
        assert_eq!(
            error("-gencode arch=compute_foo,code=sm_80"),
            "Unsupported gpu architecture 'compute_foo'"
        );
    }

    #[test]
    fn what_is_wrong_is_said_as_nvcc_does() {
        assert!(error("-fPIC a.cu").starts_with("Unknown option '-fPIC'"));
        assert_eq!(error("-o"), "argument expected after '-o'");
        assert_eq!(
            error("-rdc=maybe a.cu"),
            "Value 'maybe' is not defined for option 'relocatable-device-code'"
        );
        assert_eq!(error("-x fortran a.f"), "Value 'fortran' is not defined for option 'x'");
        assert!(error("-optix-ir a.cu").contains("OptiX is for NVIDIA GPUs only"));
        assert!(error("a.ptx").contains("a.ptx"));
    }

    #[test]
    fn options_of_each_program_go_there() {
        let call = call(
            "-use_fast_math -G -g -w -Xlinker --as-needed,-z -Xptxas -v -Xarchive=q -default-stream=per-thread -ftz=true -cudart shared \
             -I/no/such/folder -t 3 a.cu",
        );
        assert!(
            words(&call.cuda).contains("-fgpu-approx-transcendentals -g -fgpu-default-stream=per-thread")
        );
        assert_eq!(words(&call.common), "-g -w -I/no/such/folder");
        assert_eq!(call.missing, [PathBuf::from("/no/such/folder")]);
        assert_eq!(words(&call.archiver_options), "q");
        let linker: Vec<&OsString> = call
            .inputs
            .iter()
            .filter_map(|input| if let Input::Linker(word) = input { Some(word) } else { None })
            .collect();
        assert_eq!(linker, ["-Xlinker", "--as-needed", "-Xlinker", "-z"]);
        assert_eq!((call.runtime, call.threads), (Runtime::Shared, 3));
    }
}
