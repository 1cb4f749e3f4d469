//! Counts what the kernels execute and move, per target, compared with what their operations need.
//!
//! `cargo xtask bench kernels` runs it; docs/contribute/benchmarks.md says what the figures mean.

mod cases;
#[cfg(test)]
mod h100;
mod load;
mod measure;
mod page;
mod peaks;
mod report;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;

use crate::load::Load;

/// Counts what the kernels do on virtual GPUs.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask bench kernels", bin_name = "cargo xtask bench kernels")]
pub(crate) struct Arguments {
    /// Target to run on; may be repeated [default: one of each generation]
    #[arg(long, value_name = "TARGET", value_delimiter = ',')]
    target: Vec<String>,
    /// Only cases whose name contains this
    #[arg(long = "case", value_name = "TEXT")]
    case: Option<String>,
    /// How often to time each case; the median counts
    #[arg(long, value_name = "COUNT", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    repeat: u16,
    /// Write everything to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the page of the documentation to this file: all cases
    #[arg(long, value_name = "FILE", conflicts_with = "case")]
    page: Option<PathBuf>,
}

impl Arguments {
    fn targets(&self) -> Vec<&str> {
        match self.target.as_slice() {
            [] => peaks::GPUS.iter().map(|gpu| gpu.target).collect(),
            given => given.iter().map(String::as_str).collect(),
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut all = Vec::new();
    let before = Load::now();
    report::print_head(arguments.repeat);
    let targets = arguments.targets();
    for target in &targets {
        let measured = measure::on(target, arguments.case.as_deref(), arguments.repeat.into())
            .with_context(|| (*target).to_owned())?;
        report::print(target, &measured);
        all.extend(measured);
    }
    let others = before.zip(Load::now()).map(|(before, now)| now.others_since(before));
    if let Some(file) = &arguments.page {
        let text = page::write(&targets, &all, arguments.repeat, others);
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&all)? + "\n";
        std::fs::write(file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
