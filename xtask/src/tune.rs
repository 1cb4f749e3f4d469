//! `cargo xtask tune`: measures which kernel computes a product, for the tables of `blas-on-kernels` (AMD's
//! GPUs and virtual ones) and of `kernels` (NVIDIA's).

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use clap::Args;
use setup::run;

use crate::{test_devices, tools};

/// A program that writes the rows of its devices, and nothing if none is its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Program {
    example: &'static str,
    /// The table that the library reads.
    table: &'static str,
    /// Whether it can choose by the counters of virtual GPUs.
    counts: bool,
}

const PROGRAMS: [Program; 2] = [
    Program { example: "tune", table: "crates/blas-on-kernels/tuning.txt", counts: true },
    Program { example: "tune_tiles", table: "crates/kernels/tilings.txt", counts: false },
];

/// What to measure, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub(crate) struct Options {
    /// A device, such as vgpu:gfx942?cus=304 or amdgpu:0; may be repeated, one of each class of targets
    /// [default: a virtual GPU of each class; with --time, the GPU that FERROCM_DEVICE names, or the first
    /// one]
    #[arg(long = "device", value_name = "URI")]
    devices: Vec<String>,
    /// The type whose rows to write, such as f64 [default: all]
    #[arg(long = "type", value_name = "TYPE", requires = "out")]
    kind: Option<String>,
    /// Choose by times on a real GPU, AMD's or NVIDIA's, instead of the counters of a virtual one
    #[arg(long)]
    time: bool,
    /// The file to write, if not the library's table
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Measures all candidates and writes the tables.
pub(crate) fn tune(options: &Options) -> Result<()> {
    for program in programs(options) {
        run::run(&mut build(program))?;
        run::run(&mut command(program, options))?;
    }
    Ok(())
}

/// Only the type of a device says whose it is, so on a real one each program looks.
fn programs(options: &Options) -> impl Iterator<Item = Program> {
    let all = options.time && options.kind.is_none();
    PROGRAMS.into_iter().filter(move |program| program.counts || all)
}

/// With `--workspace`, for the tests' features, so that it shares their virtual GPU.
fn build(program: Program) -> Command {
    let mut command = tools::build("--example", program.example);
    test_devices::for_all_test_devices(&mut command);
    command
}

fn command(program: Program, options: &Options) -> Command {
    let mut command = tools::built(&format!("examples/{}", program.example));
    for device in &options.devices {
        command.args(["--device", device]);
    }
    if program.counts {
        if options.time {
            command.arg("--time");
        }
        if let Some(kind) = &options.kind {
            command.args(["--type", kind]);
        }
    }
    let table = || tools::workspace().join(program.table);
    command.arg("--out").arg(options.out.clone().unwrap_or_else(table));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(options: &Options) -> Vec<String> {
        programs(options).map(|program| run::describe(&command(program, options))).collect()
    }

    #[test]
    fn the_tables_are_written_unless_a_file_is_named() {
        for program in PROGRAMS {
            assert!(tools::workspace().join(program.table).is_file(), "{}", program.table);
            let text = run::describe(&build(program));
            assert!(text.contains(&format!("--example {}", program.example)), "{text}");
        }
        let counted = texts(&Options::default());
        assert!(matches!(counted.as_slice(), [text] if text.ends_with(PROGRAMS[0].table)), "{counted:?}");
        let devices = vec!["amdgpu:0".to_owned()];
        let (kind, out) = (Some("f64".to_owned()), Some("rows.txt".into()));
        let options = Options { devices, kind, time: true, out };
        let wanted = "--device amdgpu:0 --time --type f64 --out rows.txt";
        let text = texts(&options);
        assert!(matches!(text.as_slice(), [text] if text.ends_with(wanted)), "{text:?}");
    }

    #[test]
    fn times_are_measured_on_either_vendors_gpu() {
        let options = Options { devices: vec!["cuda:0".to_owned()], time: true, ..Options::default() };
        let [amd, nvidia]: [String; 2] = texts(&options).try_into().unwrap();
        assert!(amd.contains("examples/tune --device cuda:0 --time --out "), "{amd}");
        assert!(nvidia.contains("examples/tune_tiles --device cuda:0 --out "), "{nvidia}");
        assert!(nvidia.ends_with(PROGRAMS[1].table), "{nvidia}");
    }
}
