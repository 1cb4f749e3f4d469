//! `cargo xtask demo`: from a fresh checkout to checked results on a device.

use std::process::Command;

use anyhow::Result;
use clap::Args;
use setup::run;

use crate::build_kernels::Detail;
use crate::{PROGRAM, build_kernels, tools};

/// Package and example that open the device and run the kernels.
const DEMO: [&str; 4] = ["--package", "ferrocm-kernels", "--example", "demo"];

#[derive(Debug, Default, Args)]
pub(crate) struct Options {
    /// Device to run on, such as auto, vgpu:gfx90a or amdgpu:0 [default: FERROCM_DEVICE, else auto]
    #[arg(long, value_name = "URI")]
    device: Option<String>,
    /// Install the device toolchain without asking, if there is none
    #[arg(long, short)]
    yes: bool,
    /// Show the registers, LDS and wave size of every kernel, and why a GPU was not chosen
    #[arg(long, short)]
    verbose: bool,
}

/// Sets up, builds the kernels, and runs the demo program.
pub(crate) fn demo(options: &Options) -> Result<()> {
    setup::install(&PROGRAM, setup::Options { yes: options.yes, ..setup::Options::default() })?;
    println!();
    let detail = if options.verbose { Detail::Kernels } else { Detail::Modules };
    build_kernels::build(&build_kernels::Options { detail, ..build_kernels::Options::default() })?;
    println!();
    run::run(&mut command(options))?;
    println!(
        "Next: docs/own-crate.md is a crate with a kernel of your own; docs/guide.md shows what hip can do."
    );
    Ok(())
}

fn command(options: &Options) -> Command {
    let mut command = tools::cargo();
    command.args(["run", "--quiet", "--release"]).args(DEMO).arg("--");
    if let Some(device) = &options.device {
        command.args(["--device", device]);
    }
    if options.verbose {
        command.arg("--verbose");
    }
    command.current_dir(tools::workspace());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_options_reach_the_program() {
        let device = Options { device: Some("vgpu:gfx90a".to_owned()), verbose: true, ..Options::default() };
        let text = run::describe(&command(&device));
        assert!(text.ends_with("--example demo -- --device vgpu:gfx90a --verbose"), "{text}");
        assert!(run::describe(&command(&Options::default())).ends_with("--example demo --"));
    }
}
