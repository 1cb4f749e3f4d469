//! `cargo xtask tune`: chooses the kernels of `blas-on-kernels` by the sizes of products.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Args;
use setup::run;

use crate::{test_devices, tools};

/// The table that the library reads.
const TABLE: &str = "crates/blas-on-kernels/tuning.txt";
const PROGRAM: &str = "tune";

/// What to measure, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// A device, such as vgpu:gfx942?cus=304 or amdgpu:0; may be repeated, one of each class of targets
    /// [default: a virtual GPU of each class]
    #[arg(long = "device", value_name = "URI")]
    devices: Vec<String>,
    /// The type whose rows to write, such as f64 [default: all]
    #[arg(long = "type", value_name = "TYPE", requires = "out")]
    kind: Option<String>,
    /// Choose by times on a real GPU instead of the counters of a virtual one
    #[arg(long)]
    time: bool,
    /// The file to write, if not the library's table
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measures all candidates and writes the table.
pub(crate) fn tune(options: &Options) -> Result<()> {
    run::run(&mut build())?;
    run::run(&mut program(options))?;
    Ok(())
}

/// With `--workspace`, for the tests' features, so that it shares their virtual GPU.
fn build() -> Command {
    let mut command = tools::build("--example", PROGRAM);
    test_devices::for_all_test_devices(&mut command);
    command
}

fn program(options: &Options) -> Command {
    let mut command = tools::built(&format!("examples/{PROGRAM}"));
    for device in &options.devices {
        command.args(["--device", device]);
    }
    if options.time {
        command.arg("--time");
    }
    if let Some(kind) = &options.kind {
        command.args(["--type", kind]);
    }
    let table = || tools::workspace().join(TABLE);
    command.arg("--out").arg(options.out.clone().unwrap_or_else(table));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_written_unless_a_file_is_named() {
        let text = |options: &Options| run::describe(&program(options));
        assert!(text(&Options::default()).ends_with(TABLE));
        assert!(tools::workspace().join(TABLE).is_file());
        let devices = vec!["amdgpu:0".to_owned()];
        let (kind, out) = (Some("f64".to_owned()), Some("rows.txt".into()));
        let options = Options { devices, kind, time: true, out };
        let wanted = "--device amdgpu:0 --time --type f64 --out rows.txt";
        assert!(text(&options).ends_with(wanted), "{}", text(&options));
        assert!(run::describe(&build()).contains("--workspace --example tune"));
    }
}
