//! The steps for a command line.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use device_compiler::facts::SOURCE_LINES;
use device_compiler::nvcc::options::Phase;
use device_compiler::{cuda, overlay};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::call::{Call, DependencyKind, Input, Language, Runtime};
use super::{Error, Nvcc, extension, io_error, libraries, openmp, relocatable, toolkit};
use crate::debian::package::hex;

/// A step.
#[derive(Debug)]
pub(super) enum Step {
    /// Runs programs, as many at once as the call allows.
    Run(Vec<Vec<OsString>>),
    /// Puts the targets' code into a file.
    Pack { code: Vec<(String, PathBuf)>, to: PathBuf, form: Form, id: String },
    /// Makes linkers keep what an object file with relocatable code registers.
    Retain(PathBuf),
    /// Adds the files that device code reads to the list of those that host code reads.
    Merge { list: PathBuf, device: PathBuf },
    /// Links the relocatable device code in these files into an object file.
    DeviceLink { files: Vec<PathBuf>, to: PathBuf, code: PathBuf, is_asked: bool },
    /// Links a program. `after` is the object file of a device link, which may have found nothing.
    Link { before: Vec<OsString>, after: Option<PathBuf>, rest: Vec<OsString> },
    /// Runs the program.
    Program { path: PathBuf, arguments: Vec<OsString> },
}

/// How code is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A bundle.
    Bundle,
    /// Relocatable code with the source's id.
    Relocatable,
    /// A bundle as text.
    Text,
    /// The code of a single target as it is.
    Plain,
}

/// All steps of a command line.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) steps: Vec<Step>,
    outputs: Vec<PathBuf>,
    /// The folder of intermediate files.
    work: Option<TempDir>,
}

impl Plan {
    /// The files that the command line makes.
    pub(super) fn outputs(&self) -> &[PathBuf] {
        &self.outputs
    }

    /// The steps for a command line.
    pub(super) fn new(nvcc: &Nvcc<'_>, call: &Call) -> Result<Self, Error> {
        if call.inputs.iter().all(|input| matches!(input, Input::Linker(_) | Input::Library(_))) {
            return Err(Error::NoInput);
        }
        let (work, folder) = match &call.keep {
            Some(folder) => (None, folder.clone()),
            None => {
                let folder = tempfile::Builder::new().prefix("nvcc-").tempdir();
                let folder = folder.map_err(io_error("create a folder in", &std::env::temp_dir()))?;
                let path = folder.path().to_owned();
                (Some(folder), path)
            }
        };
        if !call.is_dry {
            std::fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
        }
        let mut making = Making {
            nvcc,
            call,
            work: folder,
            targets: targets(nvcc, call)?,
            steps: Vec::new(),
            outputs: Vec::new(),
        };
        making.make()?;
        Ok(Self { steps: making.steps, outputs: making.outputs, work })
    }

    /// Removes the intermediate files.
    pub(super) fn finish(self) {
        drop(self.work);
    }
}

/// The targets that code is compiled for.
fn targets(nvcc: &Nvcc<'_>, call: &Call) -> Result<Vec<String>, Error> {
    let native = nvcc.parts().targets;
    let mut named = call.targets.clone();
    if named.is_empty() {
        named = match variables::TARGETS.text().ok().flatten() {
            Some(text) => {
                text.split([',', ' ', ';']).filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }
            None => vec!["native".to_owned()],
        };
    }
    let mut all = Vec::new();
    for name in named {
        let names = if name == "native" { native.to_vec() } else { vec![name] };
        for name in names {
            if name.parse::<code_object::TargetId>().is_err() {
                return Err(Error::Architecture { name });
            }
            if !all.contains(&name) {
                all.push(name);
            }
        }
    }
    Ok(all)
}

struct Making<'a> {
    nvcc: &'a Nvcc<'a>,
    call: &'a Call,
    work: PathBuf,
    targets: Vec<String>,
    steps: Vec<Step>,
    outputs: Vec<PathBuf>,
}

fn word(before: &str, path: &Path) -> OsString {
    let mut word = OsString::from(before);
    word.push(path);
    word
}

fn words(texts: &[&str]) -> Vec<OsString> {
    texts.iter().map(OsString::from).collect()
}

impl Making<'_> {
    fn make(&mut self) -> Result<(), Error> {
        let call = self.call;
        let phase = call.phase();
        let mut sources: Vec<(PathBuf, Language)> =
            call.sources().map(|(path, language)| (path.to_owned(), language)).collect();
        // Several compilers read a source, but standard input can be read once.
        if let Some((path, _)) = sources.iter_mut().find(|(path, _)| path == Path::new("-"))
            && !call.is_dry
        {
            *path = self.work.join("stdin");
            let mut file = std::fs::File::create(&*path).map_err(io_error("write", path))?;
            std::io::copy(&mut std::io::stdin(), &mut file).map_err(io_error("write", path))?;
        }
        let is_rdc = call.is_relocatable && sources.iter().any(|(_, language)| *language == Language::Cuda);
        if is_rdc && self.nvcc.parts().toolchain.version.major < relocatable::LEAST_CLANG {
            return Err(Error::OldClang { version: self.nvcc.parts().toolchain.version_text.clone() });
        }
        match phase {
            Phase::Preprocess
            | Phase::Dependencies
            | Phase::Cubin
            | Phase::Fatbin
            | Phase::Ptx
            | Phase::Compile => {
                if call.output.is_some() && sources.len() > 1 && !call.checks_only {
                    return Err(Error::SeveralInputs);
                }
                if sources.is_empty() {
                    return Err(Error::NoInput);
                }
                for (i, (path, language)) in sources.iter().enumerate() {
                    self.source(i, path, *language, phase)?;
                }
            }
            Phase::DeviceLink => {
                let to = self.output("a_dlink.o");
                let files = self.objects(&sources)?;
                self.outputs.push(to.clone());
                self.device_link(files, to, true);
            }
            Phase::Library => {
                let to = self.output("a.a");
                let files = self.objects(&sources)?;
                self.outputs.push(to.clone());
                let archiver = call.archiver.clone().unwrap_or_else(|| "ar".into());
                let mut command = vec![archiver.into_os_string()];
                match call.archiver_options.is_empty() {
                    true => command.push("cr".into()),
                    false => command.extend(call.archiver_options.iter().cloned()),
                }
                command.push(to.into_os_string());
                command.extend(files.into_iter().map(PathBuf::into_os_string));
                self.steps.push(Step::Run(vec![command]));
            }
            Phase::Link | Phase::Run => {
                let to = self.output("a.out");
                let files = self.objects(&sources)?;
                self.outputs.push(to.clone());
                self.link(files, &to)?;
                if phase == Phase::Run {
                    self.steps.push(Step::Program { path: to, arguments: call.run_arguments.clone() });
                }
            }
        }
        Ok(())
    }

    /// The output that is named, else one with this name.
    fn output(&self, name: &str) -> PathBuf {
        match (&self.call.output, &self.call.folder) {
            (Some(output), _) => output.clone(),
            (None, Some(folder)) => folder.join(name),
            (None, None) => PathBuf::from(name),
        }
    }

    /// The files to link, in their order: sources are compiled to intermediate object files.
    fn objects(&mut self, sources: &[(PathBuf, Language)]) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        let mut next = 0;
        for input in &self.call.inputs {
            match input {
                Input::Source(..) => {
                    let (path, language) = &sources[next];
                    let to = self.work.join(format!("{}-{next}.o", stem(path)));
                    self.object(next, path, *language, &to)?;
                    files.push(to);
                    next += 1;
                }
                Input::Object(path) => files.push(path.clone()),
                Input::Library(_) | Input::Linker(_) => {}
            }
        }
        Ok(files)
    }

    /// The output of a source in a phase before linking.
    fn source(&mut self, index: usize, path: &Path, language: Language, phase: Phase) -> Result<(), Error> {
        let to = self.output(&format!("{}.{}", stem(path), extension(phase)));
        if phase == Phase::Compile {
            self.outputs.push(to.clone());
            return self.object(index, path, language, &to);
        }
        if language != Language::Cuda {
            if matches!(phase, Phase::Preprocess | Phase::Dependencies) {
                let command = self.host_source(path, language, phase, None)?;
                self.steps.push(Step::Run(vec![command]));
            }
            // Plain C and C++ have no device code.
            return Ok(());
        }
        match phase {
            Phase::Preprocess => {
                let target = self.targets.first().cloned().unwrap_or_default();
                let mut command = self.device(index, path, &target)?;
                command.push("-E".into());
                command.push(path.into());
                self.output_option(&mut command);
                self.steps.push(Step::Run(vec![command]));
            }
            Phase::Dependencies => {
                let mut command = self.clang(index, path)?;
                command.extend(words(&["--offload-host-only", "--offload-arch=gfx1100"]));
                self.list_options(&mut command, path, None);
                command.push(path.into());
                self.output_option(&mut command);
                self.steps.push(Step::Run(vec![command]));
            }
            _ => {
                self.outputs.push(to.clone());
                let code = self.codes(index, path, false)?;
                let form = match phase {
                    Phase::Cubin if code.len() > 1 => {
                        return Err(Error::SeveralTargets { targets: self.targets.join(", ") });
                    }
                    Phase::Cubin => Form::Plain,
                    Phase::Ptx => Form::Text,
                    _ => Form::Bundle,
                };
                if !self.call.checks_only {
                    self.steps.push(Step::Pack { code, to, form, id: self.id(path) });
                }
            }
        }
        Ok(())
    }

    fn output_option(&self, command: &mut Vec<OsString>) {
        if let Some(output) = &self.call.output {
            command.extend(["-o".into(), output.clone().into_os_string()]);
        }
    }

    /// clang's options for the list of the files that a source reads.
    fn list_options(
        &self,
        command: &mut Vec<OsString>,
        source: &Path,
        object: Option<&Path>,
    ) -> Option<PathBuf> {
        let list = &self.call.dependencies;
        let kind = list.kind?;
        let option = match kind {
            DependencyKind::All => "-M",
            DependencyKind::Own => "-MM",
            DependencyKind::AllBeside => "-MD",
            DependencyKind::OwnBeside => "-MMD",
        };
        let is_beside = matches!(kind, DependencyKind::AllBeside | DependencyKind::OwnBeside);
        // A list that is only made beside an object needs one.
        object.filter(|_| is_beside).or(Some(source).filter(|_| !is_beside))?;
        command.push(option.into());
        let name = format!("{}.d", stem(source));
        let file = list.file.clone().or_else(|| {
            let beside = || match &self.call.output {
                Some(output) => output.with_extension("d"),
                None => self
                    .call
                    .folder
                    .as_ref()
                    .map_or_else(|| PathBuf::from(&name), |folder| folder.join(&name)),
            };
            is_beside.then(beside)
        });
        if let Some(file) = &file {
            command.extend(["-MF".into(), file.clone().into_os_string()]);
        }
        let object_name =
            || self.call.folder.as_deref().unwrap_or(Path::new("")).join(format!("{}.o", stem(source)));
        let target = list.target.clone().or_else(|| match &self.call.output {
            Some(output) if is_beside => Some(output.clone().into_os_string()),
            _ => Some(object_name().into_os_string()),
        });
        command.extend(target.into_iter().flat_map(|target| ["-MT".into(), target]));
        if list.has_empty_targets {
            command.push("-MP".into());
        }
        file
    }

    /// The object file of a source.
    fn object(&mut self, index: usize, path: &Path, language: Language, to: &Path) -> Result<(), Error> {
        if language != Language::Cuda {
            let command = self.host_source(path, language, Phase::Compile, Some(to))?;
            self.steps.push(Step::Run(vec![command]));
            return Ok(());
        }
        let is_rdc = self.call.is_relocatable;
        let code = self.codes(index, path, is_rdc)?;
        if self.call.checks_only {
            return Ok(());
        }
        let pack = self.work.join(format!("{}-{index}.hipfb", stem(path)));
        let form = if is_rdc { Form::Relocatable } else { Form::Bundle };
        self.steps.push(Step::Pack { code, to: pack.clone(), form, id: self.id(path) });
        let mut command = self.clang(index, path)?;
        let target = self.targets.first().map(String::as_str).unwrap_or_default();
        command.extend(words(&["--offload-host-only", &format!("--offload-arch={target}")]));
        command.extend(words(&["-Wno-unknown-warning-option", "-Wno-ignored-optimization-argument"]));
        command.extend(self.call.host.iter().cloned());
        if is_rdc {
            command.extend(words(&["-fgpu-rdc", "-Xclang", "--offload-new-driver", "-Xclang"]));
            command.push(word("-fembed-offload-object=", &pack));
            command.push(format!("-D__ferrocm_source__={}{}", relocatable::SOURCE, self.id(path)).into());
        } else {
            command.extend(words(&["-Xclang", "-fcuda-include-gpubinary", "-Xclang"]));
            command.push(pack.into_os_string());
        }
        let list = self.list_options(&mut command, path, Some(to));
        command.extend(words(&["-c"]));
        command.extend([path.into(), "-o".into(), to.into()]);
        self.steps.push(Step::Run(vec![command]));
        if is_rdc {
            self.steps.push(Step::Retain(to.to_owned()));
        }
        if let Some(list) = list {
            self.outputs.push(list.clone());
            self.steps.push(Step::Merge { list, device: self.device_list(index) });
        }
        Ok(())
    }

    fn device_list(&self, index: usize) -> PathBuf {
        self.work.join(format!("device-{index}.d"))
    }

    /// Compiles a source for all targets. Returns the targets and the files.
    fn codes(&mut self, index: usize, path: &Path, is_rdc: bool) -> Result<Vec<(String, PathBuf)>, Error> {
        let mut commands = Vec::new();
        let mut code = Vec::new();
        for (i, target) in self.targets.clone().into_iter().enumerate() {
            let extension = if is_rdc { "bc" } else { "hsaco" };
            let to =
                self.work.join(format!("{}-{index}.{}.{extension}", stem(path), target.replace(':', "_")));
            let mut command = self.device(index, path, &target)?;
            if self.call.checks_only {
                command.extend(["-fsyntax-only".into(), path.into()]);
            } else {
                if is_rdc {
                    command.extend(words(&["-fgpu-rdc", "-emit-llvm"]));
                }
                if let Some(kind) = self.call.dependencies.kind.filter(|_| i == 0) {
                    // clang's driver writes such a list for the host only.
                    let mut options = words(&["-dependency-file", "", "-MT", "device"]);
                    options[1] = self.device_list(index).into_os_string();
                    if kind == DependencyKind::AllBeside {
                        options.push("-sys-header-deps".into());
                    }
                    command.extend(options.into_iter().flat_map(|option| ["-Xclang".into(), option]));
                }
                command.extend(["-c".into(), path.into(), "-o".into(), to.clone().into_os_string()]);
            }
            commands.push(command);
            code.push((target, to));
        }
        self.steps.push(Step::Run(commands));
        Ok(code)
    }

    /// clang for a CUDA source, without the options that say for whom.
    fn clang(&self, index: usize, path: &Path) -> Result<Vec<OsString>, Error> {
        let nvcc = self.nvcc;
        let mut command = vec![nvcc.parts().toolchain.clang.clone().into_os_string()];
        command.extend(words(&[
            "--driver-mode=g++",
            "--no-default-config",
            "-Wno-unused-command-line-argument",
            // A macro's name may follow a string without a space, as for GCC.
            "-Wno-reserved-user-defined-literal",
            // `register` means nothing since C++17, and is no error for nvcc and GCC.
            "-Wno-register",
            "-x",
            "hip",
        ]));
        command.extend(nvcc.hipcc.places());
        command.push(format!("-cuid={}", self.id(path)).into());
        command.extend(self.call.common.iter().chain(&self.call.cuda).cloned());
        command.push(cuda::DIALECT_OPTION.into());
        command.extend(["-isystem".into(), nvcc.headers.clone().into_os_string()]);
        // The headers of this program's own toolkit that CUDA has and these lack, and HIP's.
        let include = nvcc.toolkit.join(toolkit::OWN_HEADERS);
        command.extend(["-idirafter".into(), include.clone().into_os_string()]);
        command.extend(["-include".into(), nvcc.headers.join(cuda::RUNTIME_HEADER).into_os_string()]);
        command.extend(["-include".into(), include.join(toolkit::DRIVER_HEADER).into_os_string()]);
        if !self.call.is_dry {
            let rewritten = overlay::rewritten(&overlay::named(path), &[], self.call.common.iter());
            let folder = self.work.join(format!("rewritten-{index}"));
            std::fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
            command.extend(overlay::write(&rewritten, &folder)?);
        }
        Ok(command)
    }

    /// clang for the device code of a CUDA source.
    fn device(&self, index: usize, path: &Path, target: &str) -> Result<Vec<OsString>, Error> {
        let mut command = self.clang(index, path)?;
        let version = if target.ends_with("-generic") { 6 } else { 5 };
        command.extend(words(&["--offload-device-only", "--no-gpu-bundle-output", "-O3"]));
        command.extend([
            format!("--offload-arch={target}").into(),
            format!("-mcode-object-version={version}").into(),
        ]);
        // Faults name their lines. `-g` says more.
        if !self.call.common.iter().chain(&self.call.cuda).any(|option| option == "-g") {
            command.extend(words(SOURCE_LINES));
        }
        command.extend(self.call.device.iter().cloned());
        Ok(command)
    }

    /// Identifies a source in names that must differ between object files: the same for the same command
    /// line.
    fn id(&self, path: &Path) -> String {
        let mut hash = Sha256::new();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        hash.update(path.as_os_str().as_encoded_bytes());
        for option in self.call.common.iter().chain(&self.call.cuda).chain(&self.call.host) {
            hash.update(b"\0");
            hash.update(option.as_encoded_bytes());
        }
        hex(&hash.finalize())[..16].to_owned()
    }

    /// The host's compiler for a language.
    fn host_compiler(&self, is_cxx: bool) -> Vec<OsString> {
        let names = if is_cxx { ["g++", "c++"] } else { ["gcc", "cc"] };
        match &self.call.host_compiler {
            Some(path) if path.is_dir() => vec![path.join(names[0]).into_os_string()],
            Some(path) => vec![path.clone().into_os_string()],
            None => match names.into_iter().find(|name| is_on_path(name)) {
                Some(name) => vec![name.into()],
                None => {
                    let toolchain = self.nvcc.parts().toolchain;
                    let mut command = vec![toolchain.clang.clone().into_os_string()];
                    if is_cxx {
                        command.push("--driver-mode=g++".into());
                    }
                    command.extend(toolchain.args.iter().cloned());
                    command
                }
            },
        }
    }

    /// The command for a source in C or C++.
    fn host_source(
        &self,
        path: &Path,
        language: Language,
        phase: Phase,
        to: Option<&Path>,
    ) -> Result<Vec<OsString>, Error> {
        let mut command = self.host_compiler(language != Language::C);
        command.extend(self.call.host.iter().cloned());
        let is_c = language == Language::C;
        // `-std` is for C++.
        command.extend(self.call.common.iter().filter(|word| !is_c || !starts_with(word, "-std=")).cloned());
        command.extend(["-isystem".into(), self.nvcc.toolkit.join(toolkit::HEADERS).into_os_string()]);
        match phase {
            Phase::Preprocess => command.push("-E".into()),
            Phase::Dependencies => drop(self.list_options(&mut command, path, None)),
            _ => {
                self.list_options(&mut command, path, to);
                command.push("-c".into());
            }
        }
        match language {
            Language::C => command.extend(words(&["-x", "c"])),
            Language::Cxx => command.extend(words(&["-x", "c++"])),
            Language::Cuda | Language::Preprocessed => {}
        }
        command.push(path.into());
        match to {
            Some(to) => command.extend(["-o".into(), to.into()]),
            None => self.output_option(&mut command),
        }
        Ok(command)
    }

    fn device_link(&mut self, mut files: Vec<PathBuf>, to: PathBuf, is_asked: bool) {
        // Static libraries that are searched for may have relocatable code, too.
        for input in &self.call.inputs {
            let Input::Library(name) = input else { continue };
            let file = word("", Path::new(&format!("lib{}.a", name.to_string_lossy())));
            let found =
                self.call.library_folders.iter().map(|folder| folder.join(&file)).find(|path| path.is_file());
            files.extend(found);
        }
        let code = self.work.join("linked");
        self.steps.push(Step::DeviceLink { files, to, code, is_asked });
    }

    fn link(&mut self, files: Vec<PathBuf>, to: &Path) -> Result<(), Error> {
        let (nvcc, call) = (self.nvcc, self.call);
        let linked = self.work.join("a_dlink.o");
        let after = (!call.skips_device_link).then(|| linked.clone());
        if after.is_some() {
            self.device_link(files.clone(), linked, false);
        }
        let mut before = self.host_compiler(true);
        before.extend(words(&["-m64", "-Wl,--start-group"]));
        let mut rest = Vec::new();
        let mut files = files.into_iter();
        for input in &call.inputs {
            match input {
                Input::Source(..) | Input::Object(_) => {
                    rest.extend(files.next().map(PathBuf::into_os_string))
                }
                Input::Library(name) => rest.push(word("-l", Path::new(name))),
                Input::Linker(option) => rest.push(option.clone()),
            }
        }
        rest.extend(call.library_folders.iter().map(|folder| word("-L", folder)));
        // Those of the compiler's that change what is linked: -pthread, -fsanitize.
        let has_openmp = call.host.iter().any(openmp::is_option);
        match has_openmp.then(|| openmp::words(nvcc.parts().toolchain)) {
            Some(Some(library)) => {
                rest.extend(call.host.iter().filter(|option| !openmp::is_option(option)).cloned());
                rest.extend(library);
            }
            Some(None) if call.sources().any(|(_, language)| language == Language::Cuda) => {
                return Err(Error::NoOpenMp);
            }
            _ => rest.extend(call.host.iter().cloned()),
        }
        let folder = nvcc.toolkit.join(toolkit::LIBRARIES);
        rest.extend([word("-L", &folder.join("stubs")), word("-L", &folder)]);
        if call.runtime != Runtime::None {
            let library = nvcc.parts().library.ok_or(crate::hipcc::Error::NoLibrary)?;
            rest.push("-lcudadevrt".into());
            rest.push(if call.runtime == Runtime::Static { "-lcudart_static" } else { "-lcudart" }.into());
            // For `-lcuda`, too. With this, `LD_LIBRARY_PATH` takes precedence.
            rest.push("-Wl,--enable-new-dtags".into());
            rest.extend(["-Xlinker".into(), word("-rpath=", library.parent().unwrap_or(Path::new("/")))]);
            let is_own = |input: &Input| matches!(input, Input::Library(name) if libraries::is_shared(name));
            if call.inputs.iter().any(is_own) {
                rest.extend(["-Xlinker".into(), word("-rpath=", &folder)]);
            }
        }
        rest.extend(words(&["-lrt", "-lpthread", "-ldl", "-Wl,--end-group", "-o"]));
        rest.push(to.into());
        self.steps.push(Step::Link { before, after, rest });
        Ok(())
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn starts_with(word: &OsStr, prefix: &str) -> bool {
    word.as_encoded_bytes().starts_with(prefix.as_bytes())
}

/// Whether a program is in a folder of `PATH`.
fn is_on_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
