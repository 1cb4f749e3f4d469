//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Parser;
use code_object::TargetId;
use kernel_build::DEFAULT_TARGETS;
use kernel_build::Dialect;

/// Measures a build script that compiles CUDA sources, compared with a plain loop of the same compiler.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench build", bin_name = "cargo xtask bench build")]
pub(crate) struct Arguments {
    /// The folder of the sources [default: the eleven core modules of candle-kernels 0.11.1, fetched]
    #[arg(long, value_name = "DIR")]
    pub(crate) source: PathBuf,
    /// Only these of its sources; a pattern as for `Builder::source`
    #[arg(long, value_name = "PATTERN")]
    pub(crate) only: Vec<String>,
    /// The targets, separated by commas [default: those of a build]
    #[arg(long, value_delimiter = ',', value_name = "TARGETS")]
    targets: Vec<String>,
    /// The target to add last
    #[arg(long, value_name = "TARGET", default_value = "gfx1101")]
    add: String,
    /// A folder of headers
    #[arg(short = 'I', long, value_name = "DIR")]
    include: Vec<PathBuf>,
    /// The source to edit [default: the first one]
    #[arg(long, value_name = "FILE")]
    edit: Option<String>,
    /// The header to edit [default: the one that most sources include]
    #[arg(long, value_name = "FILE")]
    pub(crate) header: Option<String>,
    /// The sources are HIP
    #[arg(long)]
    hip: bool,
    /// How often to measure everything; medians count
    #[arg(long, default_value_t = 3, value_name = "NUMBER")]
    pub(crate) repeat: usize,
    /// How often to measure a build with nothing to do, each time
    #[arg(long, default_value_t = 5, value_name = "NUMBER")]
    pub(crate) warm: usize,
    /// Leave out the plain loop
    #[arg(long)]
    pub(crate) no_loop: bool,
    /// The number of compilers that a build may run at once [default: one per core]; the loop runs one
    #[arg(long, value_name = "NUMBER")]
    jobs: Option<usize>,
    /// Write everything, including each single time, to a file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Options of clang, for the builds and for the loop
    #[arg(last = true, value_name = "FLAGS")]
    pub(crate) flags: Vec<OsString>,
}

impl Arguments {
    pub(crate) fn targets(&self) -> Result<Vec<TargetId>> {
        let names: Vec<&str> = self.targets.iter().map(String::as_str).collect();
        let names = if names.is_empty() { DEFAULT_TARGETS } else { &names };
        names.iter().map(|name| name.trim().parse().map_err(Into::into)).collect()
    }

    pub(crate) fn more(&self, targets: &[TargetId]) -> Result<TargetId> {
        let more: TargetId = self.add.parse()?;
        ensure!(!targets.contains(&more), "{more} is a target already: name another one with --add");
        Ok(more)
    }

    /// Compilers run in other folders than the caller.
    pub(crate) fn includes(&self) -> Result<Vec<PathBuf>> {
        let real = |dir: &PathBuf| dir.canonicalize().with_context(|| format!("find {}", dir.display()));
        self.include.iter().map(real).collect()
    }

    pub(crate) fn dialect(&self) -> Dialect {
        if self.hip { Dialect::Hip } else { Dialect::Cuda }
    }

    pub(crate) fn jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(cores).max(1)
    }

    /// The source to edit.
    pub(crate) fn edited(&self, sources: &[String]) -> Result<String> {
        let wanted = |name: &&String| self.edit.as_ref().is_none_or(|edit| *name == edit);
        let found = sources.iter().find(wanted).cloned();
        found.with_context(|| format!("{} is not one of the sources", self.edit.as_deref().unwrap_or("this")))
    }
}
