//! Performs the steps of a command line, or prints them.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use code_object::text;
use device_compiler::{Diagnostic, depfile, diagnostics, retries};

use super::call::Call;
use super::plan::{Form, Plan, Step};
use super::{DEFAULT_ARCHITECTURE, Error, FAILED, Nvcc, absent, io_error, relocatable, tell};

/// Performs a plan. Returns the status to exit with.
pub(super) fn perform(nvcc: &Nvcc<'_>, call: &Call, plan: Plan) -> Result<u8, Error> {
    let mut doing = Doing { nvcc, call, told: HashSet::new(), times: Vec::new() };
    let mut status = 0;
    for step in &plan.steps {
        let begin = Instant::now();
        let result = doing.step(step)?;
        doing.times.push((name(step), begin.elapsed()));
        if result != 0 {
            status = result;
            break;
        }
    }
    if let Some(path) = call.times.as_ref().filter(|_| !call.is_dry) {
        doing.write_times(path)?;
    }
    plan.finish();
    Ok(status)
}

fn name(step: &Step) -> &'static str {
    match step {
        Step::Run(_) => "compile",
        Step::Pack { .. } => "fatbinary",
        Step::Retain(_) => "retain",
        Step::Merge { .. } => "dependencies",
        Step::DeviceLink { .. } => "nvlink",
        Step::Link { .. } => "link",
        Step::Program { .. } => "run",
    }
}

struct Doing<'a> {
    nvcc: &'a Nvcc<'a>,
    call: &'a Call,
    /// Messages that were printed: the compilers for each target and the host have many in common.
    told: HashSet<String>,
    times: Vec<(&'static str, std::time::Duration)>,
}

/// A command line as a shell reads it.
fn shown(words: &[OsString]) -> String {
    let quoted = words.iter().enumerate().map(|(i, word)| {
        let word = word.to_string_lossy();
        // CMake looks for the folders of libraries in quotes.
        let is_plain = i == 0
            || word.starts_with('-')
                && !word.starts_with("-L")
                && !word.contains([' ', '"', '$', '(', '*', ';', '&', '\'']);
        match is_plain {
            true => word.into_owned(),
            false => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$")),
        }
    });
    quoted.collect::<Vec<_>>().join(" ")
}

impl Doing<'_> {
    fn step(&mut self, step: &Step) -> Result<u8, Error> {
        match step {
            Step::Run(commands) => self.run_all(commands),
            Step::Pack { code, to, form, id } => {
                self.show(&format!(
                    "fatbinary -64 {} --create=\"{}\"",
                    code.iter()
                        .map(|(target, file)| format!(
                            "\"--image3=kind=elf,arch={target},file={}\"",
                            file.display()
                        ))
                        .collect::<Vec<_>>()
                        .join(" "),
                    to.display()
                ));
                if !self.call.is_dry {
                    pack(code, to, *form, id)?;
                }
                Ok(0)
            }
            Step::Retain(path) => {
                if !self.call.is_dry {
                    let mut object = fs::read(path).map_err(io_error("read", path))?;
                    let marked = relocatable::retain(&mut object);
                    marked.map_err(|reason| Error::Link { path: path.clone(), reason })?;
                    fs::write(path, object).map_err(io_error("write", path))?;
                }
                Ok(0)
            }
            Step::Merge { list, device } => {
                if !self.call.is_dry {
                    merge(list, device)?;
                }
                Ok(0)
            }
            Step::DeviceLink { files, to, code, is_asked } => self.device_link(files, to, code, *is_asked),
            Step::Link { before, after, rest } => {
                let mut words = before.clone();
                let after = after.as_ref().filter(|path| self.call.is_dry || path.is_file());
                words.extend(after.map(|path| path.clone().into_os_string()));
                words.extend(rest.iter().cloned());
                self.run_all(&[words])
            }
            Step::Program { path, arguments } => {
                let path =
                    if path.components().count() == 1 { Path::new(".").join(path) } else { path.clone() };
                let mut words = vec![path.clone().into_os_string()];
                words.extend(arguments.iter().cloned());
                self.show(&shown(&words));
                if self.call.is_dry {
                    return Ok(0);
                }
                let status =
                    Command::new(&path).args(arguments).status().map_err(io_error("start", &path))?;
                Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED))
            }
        }
    }

    /// Prints a command if the caller wants to see it.
    fn show(&self, command: &str) {
        if self.call.is_dry || self.call.is_verbose {
            tell(&format!("#$ {command}\n"));
        }
    }

    /// Runs commands, several at once, and prints their messages in the order of the commands.
    fn run_all(&mut self, commands: &[Vec<OsString>]) -> Result<u8, Error> {
        for words in commands {
            let mut text = shown(words);
            if text.contains("--offload-device-only") {
                // CMake reads the default architecture here.
                text.push_str(&format!(" # -arch compute_{DEFAULT_ARCHITECTURE}"));
            }
            self.show(&text);
        }
        if self.call.is_dry {
            return Ok(0);
        }
        let next = Mutex::new(0..commands.len());
        let take = || next.lock().map_or(None, |mut next| next.next());
        let results: Vec<Mutex<Option<Result<Output, Error>>>> =
            commands.iter().map(|_| Mutex::new(None)).collect();
        std::thread::scope(|scope| {
            for _ in 0..self.call.threads.clamp(1, commands.len().max(1)) {
                scope.spawn(|| {
                    while let Some(i) = take() {
                        let result = self.run(&commands[i]);
                        if let Ok(mut place) = results[i].lock() {
                            *place = Some(result);
                        }
                    }
                });
            }
        });
        for result in results {
            let result = result.into_inner().ok().flatten();
            let Some(result) = result else { return Ok(FAILED) };
            let output = result?;
            let messages = String::from_utf8_lossy(&output.stderr);
            self.tell_once(&messages, output.status.success());
            if !output.status.success() {
                if let Some(note) = absent::note(&messages) {
                    tell(&format!("nvcc note    : {note}\n"));
                }
                // Whoever read the output had enough of it, as `head` does.
                const BROKEN_PIPE: i32 = 13;
                if let Some(signal) = output.status.signal().filter(|signal| *signal != BROKEN_PIPE) {
                    tell(&format!("nvcc error   : the compiler died due to signal {signal}\n"));
                }
                return Ok(output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED));
            }
        }
        Ok(0)
    }

    fn run(&self, words: &[OsString]) -> Result<Output, Error> {
        let program = Path::new(&words[0]);
        let clang = self.nvcc.hipcc.command();
        // Environment and libraries are those of the toolchain's own programs.
        let mut command =
            if program == Path::new(clang.get_program()) { clang } else { Command::new(program) };
        command.args(&words[1..]);
        let run = |mut command: Command| {
            command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::piped());
            let child = command.spawn().map_err(io_error("start", program))?;
            child.wait_with_output().map_err(io_error("wait for", program))
        };
        retries::compile(&command, run, retries::messages)
    }

    /// Prints a compiler's messages, except those that another compiler has printed.
    fn tell_once(&mut self, text: &str, is_done: bool) {
        let text = diagnostics::without_counts(text);
        let messages: Vec<String> = Diagnostic::read_all(&text).iter().map(ToString::to_string).collect();
        let fresh: Vec<&String> = messages.iter().filter(|message| !self.told.contains(*message)).collect();
        if !is_done || fresh.len() == messages.len() {
            tell(&text);
        } else {
            fresh.iter().for_each(|message| tell(&format!("{message}\n")));
        }
        self.told.extend(messages);
    }

    fn device_link(
        &mut self,
        files: &[PathBuf],
        to: &Path,
        scratch: &Path,
        is_asked: bool,
    ) -> Result<u8, Error> {
        let names: Vec<OsString> = files.iter().map(|file| file.clone().into_os_string()).collect();
        let mut line: Vec<OsString> = vec!["nvlink".into()];
        line.extend(names);
        line.extend(["-o".into(), to.into()]);
        self.show(&shown(&line));
        if self.call.is_dry {
            return Ok(0);
        }
        let mut sources = Vec::new();
        let mut linked = HashSet::new();
        for path in files {
            let bytes = fs::read(path).map_err(io_error("read", path))?;
            let found = relocatable::read(path, &bytes);
            let found = found.map_err(|reason| Error::Link { path: path.clone(), reason })?;
            sources.extend(found.sources);
            linked.extend(found.linked);
        }
        sources.retain(|source| !linked.contains(&source.id));
        if sources.is_empty() && !is_asked {
            return Ok(0);
        }
        let mut targets: Vec<&String> = Vec::new();
        for (target, _) in sources.iter().flat_map(|source| &source.targets) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        if !self.call.targets.is_empty() && !self.call.targets.iter().any(|name| name == "native") {
            targets.retain(|target| self.call.targets.contains(target));
        }
        fs::create_dir_all(scratch).map_err(io_error("create", scratch))?;
        let mut commands = Vec::new();
        let mut outputs = Vec::new();
        for target in targets {
            let mut inputs = Vec::new();
            for (i, source) in sources.iter().enumerate() {
                let Some((_, code)) = source.targets.iter().find(|(name, _)| name == target) else {
                    let has: Vec<&str> = source.targets.iter().map(|(name, _)| name.as_str()).collect();
                    let reason = format!("it has device code for {}, but not for {target}", has.join(", "));
                    return Err(Error::Link { path: source.file.clone(), reason });
                };
                // The linker's messages name the file.
                let name = source.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let folder = scratch.join(format!("{}-{i}", target.replace(':', "_")));
                fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
                let path = folder.join(name);
                fs::write(&path, code).map_err(io_error("write", &path))?;
                inputs.push(path.into_os_string());
            }
            let output = scratch.join(format!("{}.hsaco", target.replace(':', "_")));
            commands.push(self.linker(target, inputs, &output));
            outputs.push((target.clone(), output));
        }
        for words in &commands {
            // CMake takes other commands for that of the host's linker.
            self.show(&format!("nvlink: {}", shown(words)));
        }
        for words in commands {
            let mut command = self.nvcc.parts().toolchain.linker_command();
            let output =
                command.args(&words[1..]).output().map_err(io_error("start", Path::new(&words[0])))?;
            let text = String::from_utf8_lossy(&output.stderr);
            for line in text.lines() {
                let line = line.replace(&format!("{}/", scratch.display()), "");
                tell(&format!(
                    "nvlink {}\n",
                    line.trim_start_matches("ld.lld: ").trim_start_matches("lld: ")
                ));
            }
            if !output.status.success() {
                return Ok(FAILED);
            }
        }
        let mut code = Vec::new();
        for (target, path) in outputs {
            code.push((target, fs::read(&path).map_err(io_error("read", &path))?));
        }
        let damaged = |reason| Error::Link { path: to.to_owned(), reason };
        let names = match code.first() {
            Some((_, bytes)) => relocatable::names(bytes).map_err(damaged)?,
            None => Vec::new(),
        };
        let ids: Vec<&str> = sources.iter().map(|source| source.id.as_str()).collect();
        let binary = scratch.join("linked.hipfb");
        fs::write(&binary, relocatable::fat_binary(&code)).map_err(io_error("write", &binary))?;
        let source = scratch.join("registration.c");
        fs::write(&source, relocatable::registration(&binary, &names, &ids))
            .map_err(io_error("write", &source))?;
        let mut words = vec![self.nvcc.parts().toolchain.clang.clone().into_os_string()];
        words.extend(["--no-default-config", "-x", "c", "-O2", "-fPIC", "-c"].map(OsString::from));
        words.extend([source.into_os_string(), "-o".into(), to.into()]);
        self.run_all(&[words])
    }

    /// The command that links the bitcode of a target.
    fn linker(&self, target: &str, inputs: Vec<OsString>, output: &Path) -> Vec<OsString> {
        let mut parts = target.split(':');
        let processor = parts.next().unwrap_or_default();
        let features: Vec<String> = parts
            .filter_map(|feature| {
                let (name, sign) = feature.split_at_checked(feature.len().checked_sub(1)?)?;
                Some(format!("{sign}{name}"))
            })
            .collect();
        let mut words: Vec<OsString> = vec![self.nvcc.parts().toolchain.linker.clone().into_os_string()];
        words.extend(
            [
                "-shared",
                "-m",
                "elf64_amdgpu",
                "--no-undefined",
                "--lto-O3",
                "-plugin-opt=-amdgpu-internalize-symbols",
            ]
            .map(OsString::from),
        );
        words.push(format!("-plugin-opt=mcpu={processor}").into());
        if !features.is_empty() {
            words.push(format!("-plugin-opt=-mattr={}", features.join(",")).into());
        }
        words.extend(["-o".into(), output.into()]);
        words.extend(inputs);
        words
    }

    /// Appends what each step took to a table, as nvcc does.
    fn write_times(&self, path: &Path) -> Result<(), Error> {
        use std::io::Write as _;
        let is_new = !path.exists();
        let mut file =
            fs::OpenOptions::new().append(true).create(true).open(path).map_err(io_error("write", path))?;
        let mut table = String::new();
        if is_new {
            table.push_str("phase name, metric, unit\n");
        }
        for (name, time) in &self.times {
            table.push_str(&format!("{name}, {:.3}, ms\n", time.as_secs_f64() * 1e3));
        }
        file.write_all(table.as_bytes()).map_err(io_error("write", path))
    }
}

/// Puts the targets' code into a file.
fn pack(code: &[(String, PathBuf)], to: &Path, form: Form, id: &str) -> Result<(), Error> {
    let mut parts = Vec::new();
    for (target, path) in code {
        parts.push((target.clone(), fs::read(path).map_err(io_error("read", path))?));
    }
    let bytes = match (form, parts.first()) {
        (Form::Plain, Some((_, bytes))) => bytes.clone(),
        (Form::Relocatable, _) => relocatable::pack(id, &parts),
        (Form::Text, _) => text::encode(&relocatable::fat_binary(&parts)).into_bytes(),
        (Form::Bundle | Form::Plain, _) => relocatable::fat_binary(&parts),
    };
    fs::write(to, bytes).map_err(io_error("write", to))
}

/// Adds the files that only device code reads to a list.
fn merge(list: &Path, device: &Path) -> Result<(), Error> {
    let Ok(more) = fs::read_to_string(device) else { return Ok(()) };
    let text = fs::read_to_string(list).map_err(io_error("read", list))?;
    let Some((target, _)) = text.split_once(": ") else { return Ok(()) };
    let known = depfile::parse(&text);
    let more: Vec<PathBuf> = depfile::parse(&more).into_iter().filter(|path| !known.contains(path)).collect();
    if more.is_empty() {
        return Ok(());
    }
    let escaped =
        |path: &PathBuf| path.to_string_lossy().replace(' ', "\\ ").replace('#', "\\#").replace('$', "$$");
    let added: String = more.iter().map(|path| format!(" \\\n  {}", escaped(path))).collect();
    fs::write(list, format!("{text}{target}:{added}\n")).map_err(io_error("write", list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_device_code_are_added_to_the_list() {
        let folder = tempfile::tempdir().expect("folder");
        let (list, device) = (folder.path().join("a.d"), folder.path().join("device.d"));
        fs::write(&list, "a.o: a.cu \\\n  x.h\n").expect("write");
        merge(&list, &device).expect("nothing to add");
        fs::write(&device, "a.hsaco: a.cu \\\n  x.h \\\n  only\\ device.h\n").expect("write");
        merge(&list, &device).expect("merged");
        let text = fs::read_to_string(&list).expect("text");
        assert_eq!(text, "a.o: a.cu \\\n  x.h\na.o: \\\n  only\\ device.h\n");
    }

    #[test]
    fn commands_are_shown_as_cmake_reads_them() {
        let words = ["g++", "-m64", "-Wl,--start-group", "a b.o", "-L/x/lib64", "-o", "a.out"];
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        assert_eq!(shown(&words), "g++ -m64 -Wl,--start-group \"a b.o\" \"-L/x/lib64\" -o \"a.out\"");
    }
}
