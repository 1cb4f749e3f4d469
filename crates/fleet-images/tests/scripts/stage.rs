//! An environment for a script: a folder of stand-ins, and one that acts as the root of a machine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The project's folder.
pub(crate) fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

pub(crate) struct Stage {
    folder: TempDir,
    path: String,
}

/// How a script ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Stage {
    /// With the machine's own programs after the stand-ins in `PATH`.
    pub(crate) fn new() -> Self {
        let mut stage = Self::bare(&[]);
        stage.path = format!("{}:/usr/bin:/bin", stage.at("bin").display());
        stage
    }

    /// With only these programs of the machine.
    pub(crate) fn bare(programs: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", "root", "home"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        for program in programs {
            let found = setup::run::find_program(program).unwrap_or_else(|| panic!("there is no {program}"));
            symlink(found, folder.path().join("bin").join(program)).unwrap();
        }
        let path = folder.path().join("bin").display().to_string();
        Self { folder, path }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// A file of the machine, with its folders.
    pub(crate) fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// A program at any path that records its arguments and then does something.
    pub(crate) fn program_at(&self, path: &str, body: &str) -> PathBuf {
        let (name, log) = (path.rsplit('/').next().unwrap(), self.at("log"));
        let text = format!(
            "#!/bin/sh\n{{ printf '%s' {name}; for word; do printf ' [%s]' \"$word\"; done; echo; }} >> '{log}'\n{body}\n",
            log = log.display()
        );
        let path = self.file(path, &text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// A stand-in in `PATH`.
    pub(crate) fn program(&self, name: &str, body: &str) {
        self.program_at(&format!("bin/{name}"), body);
    }

    /// The calls of the stand-ins since the last query.
    pub(crate) fn calls(&self) -> Vec<String> {
        let log = fs::read_to_string(self.at("log")).unwrap_or_default();
        let _ = fs::remove_file(self.at("log"));
        log.lines().map(str::to_owned).collect()
    }

    /// Runs a program with only the stage's folders and some variables in its environment.
    pub(crate) fn run(&self, program: &Path, words: &[&str], variables: &[(&str, &str)]) -> Ended {
        let output = Command::new(program)
            .args(words)
            .current_dir(self.at("home"))
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.at("home"))
            .env("ROOT", self.at("root"))
            .env("ROCM_PATH", self.at("rocm"))
            .env("LC_ALL", "C.UTF-8")
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        let status = output.status.code().unwrap_or(-1);
        Ended { status, out: text(output.stdout), err: text(output.stderr) }
    }

    /// Runs a script of the project.
    pub(crate) fn script(&self, path: &str, words: &[&str], variables: &[(&str, &str)]) -> Ended {
        self.run(&project().join(path), words, variables)
    }
}
