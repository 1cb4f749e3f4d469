//! `cargo xtask demo`: from a fresh checkout to checked results on a device.

use std::process::Command;

use anyhow::Result;
use clap::Args;
use setup::run;

use crate::build_kernels::Detail;
use crate::{PROGRAM, build_kernels, tools};

/// The example of `kernels` that opens the device and runs them.
const DEMO: &str = "demo";

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
    println!("\nBuilding the demo. The virtual GPU takes some minutes, once.\n");
    run::run(&mut build())?;
    run::run(&mut command(options))?;
    println!(
        "Next: docs/own-crate.md is a crate with a kernel of your own; docs/guide.md shows what hip can do."
    );
    Ok(())
}

/// Builds it with the profile and the features of the tests, which share the virtual GPU with it: its engine is optimised in both.
fn build() -> Command {
    let mut command = tools::cargo();
    command.args(["build", "--quiet", "--workspace", "--example", DEMO]).current_dir(tools::workspace());
    command
}

fn command(options: &Options) -> Command {
    let program = format!("debug/examples/{DEMO}{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(tools::target_folder().join(program));
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
        assert!(text.ends_with("examples/demo --device vgpu:gfx90a --verbose"), "{text}");
        assert!(run::describe(&command(&Options::default())).ends_with("examples/demo"));
    }
}
