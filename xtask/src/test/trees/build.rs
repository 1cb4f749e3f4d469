//! Builds of trees by their own build systems, which take nvcc for CUDA's.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde::Deserialize;
use setup::run;

use super::table::Tree;
use super::{Place, blank, failure, with_places};

/// What a build folder of CMake says about itself, which other build systems can write, too.
const COMMANDS: &str = "compile_commands.json";

/// One compilation of it.
#[derive(Debug, Deserialize)]
struct Compilation {
    directory: PathBuf,
    file: PathBuf,
    /// The object file. The format does not oblige anybody to say it.
    output: Option<PathBuf>,
}

/// A tree's own build for a target.
#[derive(Debug)]
pub(super) struct Build<'a> {
    commands: &'a [Vec<String>],
    pub(super) tree: &'a Path,
    /// Where it builds.
    pub(super) folder: PathBuf,
    environment: Vec<(&'static str, OsString)>,
}

impl<'a> Build<'a> {
    /// Of a tree in a folder.
    pub(super) fn new(tree: &'a Tree, folder: &'a Path, target: &str, place: &Place) -> Result<Self> {
        let mut environment = vec![
            (variables::DEVICE.name, format!("vgpu:{target}").into()),
            (variables::TARGETS.name, target.into()),
        ];
        environment.extend(place.libraries.iter().map(|folder| (variables::LIBRARIES.name, folder.into())));
        if !tree.build.is_empty() {
            let mut question = Command::new(&place.nvcc);
            question.args(["nvcc", "--toolkit"]).envs(environment.iter().cloned());
            let toolkit = PathBuf::from(run::capture(&mut question)?.trim());
            let bin = toolkit.join("bin");
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = [bin.clone()].into_iter().chain(std::env::split_paths(&path));
            environment.push(("PATH", std::env::join_paths(folders).context("PATH")?));
            environment.push(("CUDACXX", bin.join("nvcc").into()));
            environment.push(("LD_LIBRARY_PATH", toolkit.join("lib64").into()));
            environment.push(("CUDA_HOME", toolkit.into()));
        }
        let name = format!("{}-{}", blank(Path::new(&tree.name)), blank(Path::new(target)));
        Ok(Self { commands: &tree.build, tree: folder, folder: place.kept().join(name), environment })
    }

    /// A command in the build's environment, without input.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.envs(self.environment.iter().map(|(name, value)| (name, value))).stdin(Stdio::null());
        command
    }

    /// Texts in which `{tree}` and `{build}` stand for folders.
    pub(super) fn filled(&self, texts: &[String]) -> Vec<String> {
        with_places(texts, &[("{tree}", self.tree), ("{build}", &self.folder)])
    }

    /// Runs the commands. The inner error says why one fails.
    pub(super) fn run(&self) -> Result<Result<(), String>> {
        fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        for command in self.commands {
            let words = self.filled(command);
            let (program, arguments) = words.split_first().context("an empty command")?;
            let output = self.command(program).args(arguments).current_dir(&self.folder).output();
            let output = output.with_context(|| format!("cannot start {program}"))?;
            if let Some(why) = failure(&output) {
                return Ok(Err(format!("its build fails: {why}")));
            }
        }
        Ok(Ok(()))
    }

    /// The sources that it compiled, as canonical paths: those whose object files `compile_commands.json`
    /// names and that are there.
    pub(super) fn compiled(&self) -> Result<HashSet<PathBuf>> {
        let path = self.folder.join(COMMANDS);
        if !path.exists() {
            return Ok(HashSet::new());
        }
        let all: Vec<Compilation> =
            serde_json::from_slice(&fs::read(&path).with_context(|| path.display().to_string())?)
                .with_context(|| path.display().to_string())?;
        let is_there = |one: &Compilation| {
            one.output.as_ref().is_some_and(|output| one.directory.join(output).is_file())
        };
        let sources = all.iter().filter(|one| is_there(one)).map(|one| one.directory.join(&one.file));
        Ok(sources.filter_map(|source| fs::canonicalize(source).ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_compiled_what_it_left_objects_of() {
        let place = tempfile::tempdir().unwrap();
        let tree = place.path().join("tree");
        let folder = place.path().join("build");
        fs::create_dir_all(&tree).unwrap();
        fs::create_dir_all(folder.join("objects")).unwrap();
        let build = Build { commands: &[], tree: &tree, folder: folder.clone(), environment: Vec::new() };
        assert!(build.compiled().unwrap().is_empty());
        for name in ["a.cu", "b.cu", "c.cu"] {
            fs::write(tree.join(name), "").unwrap();
        }
        fs::write(folder.join("objects/a.o"), "").unwrap();
        let row = |name: &str, output: &str| {
            format!(r#"{{"directory": {folder:?}, "command": "nvcc", "file": "../tree/{name}.cu"{output}}}"#)
        };
        let rows = [
            row("a", r#", "output": "objects/a.o""#),
            row("b", r#", "output": "objects/b.o""#),
            row("c", ""),
            row("gone", r#", "output": "objects/a.o""#),
        ];
        fs::write(folder.join(COMMANDS), format!("[{}]", rows.join(","))).unwrap();
        let sources = build.compiled().unwrap();
        assert_eq!(sources, HashSet::from([fs::canonicalize(tree.join("a.cu")).unwrap()]));
        fs::write(folder.join(COMMANDS), "{").unwrap();
        assert!(format!("{:#}", build.compiled().unwrap_err()).contains(COMMANDS));
    }
}
