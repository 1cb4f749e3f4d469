//! `cargo xtask demo`: from a fresh checkout to checked results on a device.

use std::process::Command;

use anyhow::Result;
use setup::run;

use crate::{PROGRAM, build_kernels, tools};

/// Package and example that open the device and run the kernels.
const DEMO: [&str; 4] = ["--package", "ferrocm-kernels", "--example", "demo"];

/// Sets up, builds the kernels, and runs the demo program on `device`.
pub(crate) fn demo(device: Option<&str>, yes: bool) -> Result<()> {
    setup::install(&PROGRAM, setup::Options { yes, ..setup::Options::default() })?;
    println!();
    build_kernels::build(&build_kernels::Options { table: true, ..build_kernels::Options::default() })?;
    println!();
    run::run(&mut command(device))?;
    Ok(())
}

fn command(device: Option<&str>) -> Command {
    let mut command = tools::cargo();
    command.args(["run", "--quiet", "--release"]).args(DEMO);
    if let Some(device) = device {
        command.args(["--", "--device", device]);
    }
    command.current_dir(tools::workspace());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_reaches_the_program() {
        let text = run::describe(&command(Some("vgpu:gfx90a")));
        assert!(text.ends_with("--example demo -- --device vgpu:gfx90a"), "{text}");
        assert!(run::describe(&command(None)).ends_with("--example demo"));
    }
}
