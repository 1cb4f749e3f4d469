//! A build script in its own process, like a crate's `build.rs`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kernel_build::Builder;
use kernel_build::Dialect;
use serde::{Deserialize, Serialize};

/// Names the file that says what the process must build.
pub(crate) const VARIABLE: &str = "BUILD_BENCH_SCRIPT";

/// What the script builds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Script {
    pub(crate) folder: PathBuf,
    pub(crate) only: Vec<String>,
    pub(crate) includes: Vec<PathBuf>,
    pub(crate) flags: Vec<OsString>,
    pub(crate) targets: Vec<String>,
    pub(crate) hip: bool,
    pub(crate) cache: PathBuf,
}

/// What the script has done.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    /// Objects that were not in the cache.
    pub(crate) compiled: usize,
    /// Paths below the folder.
    pub(crate) sources: Vec<String>,
}

impl Script {
    /// Runs the script, and returns the time from the start of its process to its end.
    pub(crate) fn start(&self, out: &Path, jobs: usize) -> Result<(Duration, Done)> {
        let file = out.join("script.json");
        fs::write(&file, serde_json::to_vec(self)?).with_context(|| format!("write {}", file.display()))?;
        let mut command = Command::new(std::env::current_exe().context("find this program")?);
        command.env(VARIABLE, &file).env("OUT_DIR", out).env("NUM_JOBS", jobs.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let begin = Instant::now();
        let status = command.status().context("start this program")?;
        let time = begin.elapsed();
        ensure!(status.success(), "the build script failed ({status})");
        let done = fs::read(done(&file)).context("read what the build script has done")?;
        Ok((time, serde_json::from_slice(&done)?))
    }
}

/// The file for the results of a script.
fn done(file: &Path) -> PathBuf {
    file.with_file_name("done.json")
}

/// The work of the process.
pub(crate) fn run(file: &Path) -> Result<()> {
    let bytes = fs::read(file).with_context(|| format!("read {}", file.display()))?;
    let script: Script = serde_json::from_slice(&bytes)?;
    let dialect = if script.hip { Dialect::Hip } else { Dialect::Cuda };
    let mut builder =
        Builder::new(script.folder).targets(script.targets).cache(script.cache).dialect(dialect);
    for pattern in script.only {
        builder = builder.source(pattern);
    }
    for folder in script.includes {
        builder = builder.include(folder);
    }
    for flag in script.flags {
        builder = builder.flag(flag);
    }
    let build = builder.embed()?;
    let compiled = build.objects().filter(|(_, object)| !object.cached).count();
    let sources = build.modules.into_iter().map(|module| module.relative).collect();
    fs::write(done(file), serde_json::to_vec(&Done { compiled, sources })?).context("write what was done")
}
