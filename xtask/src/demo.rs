//! `cargo xtask demo`: from a fresh checkout to checked results on a device.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Result;
use clap::Args;
use setup::run;

use crate::build_kernels::Detail;
use crate::tools::TARGETS;
use crate::{build_kernels, tools};

/// The example of `kernels` that opens the device and runs them.
const DEMO: &str = "demo";
/// The program that runs language models.
const FERROCM: &str = "ferrocm";
/// The model and what it is asked: a small one, which a virtual GPU runs, too.
const MODEL: &str = "smollm2";
const QUESTION: &str = "What is a GPU?";
/// Tokens of the answer, at most.
const TOKENS: &str = "24";
/// Names the device if the command line does not.
const DEVICE: &str = "FERROCM_DEVICE";
/// The default target of virtual GPUs.
const VIRTUAL_TARGET: &str = "gfx1100";

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
    let device = options.device.clone().or_else(|| tools::variable(DEVICE)).unwrap_or_default();
    let target = match tools::variable(TARGETS) {
        Some(_) => None,
        None => target(&device, Path::new(tools::AMD_DRIVER).exists()),
    };
    let ahead = Ahead::start(&build(target));
    tools::install_toolchain(options.yes)?;
    println!();
    let detail = if options.verbose { Detail::Kernels } else { Detail::Modules };
    let targets = target.iter().map(|target| (*target).to_owned()).collect();
    build_kernels::build(&build_kernels::Options { detail, targets, ..build_kernels::Options::default() })?;
    println!("\nBuilding the demo. The virtual GPU takes some minutes, once.\n");
    ahead.finish();
    run::run(&mut build(target))?;
    run::run(&mut command(options))?;
    println!("\nThe language model {MODEL} on the same device. Its file is fetched once.\n\n> {QUESTION}");
    run::run(&mut answer(options))?;
    println!(
        "\nNext: docs/use/own-crate.md is a crate with a kernel of your own; docs/use/guide.md shows what hip can do."
    );
    Ok(())
}

/// The target of the kernels, if the device is virtual. Only the program can see a real GPU's target, so then
/// the kernels are compiled for all.
fn target(device: &str, has_amd_gpu: bool) -> Option<&str> {
    let rest = match device {
        "" | "auto" if !has_amd_gpu => "",
        _ => device.strip_prefix("vgpu")?,
    };
    let rest = rest.split('?').next().unwrap_or(rest);
    match rest.strip_prefix(':') {
        Some(target) => Some(target),
        None if rest.is_empty() => Some(VIRTUAL_TARGET),
        None => None,
    }
}

/// Builds it with the profile and features of the tests, so that both share the virtual GPU, whose executor
/// is optimised.
fn build(target: Option<&str>) -> Command {
    let mut command = tools::build("--example", DEMO);
    command.args(["--bin", FERROCM]);
    if let Some(target) = target {
        command.env(TARGETS, target);
    }
    command
}

/// A Cargo build that runs in parallel with the demo's first steps. It compiles everything that needs neither
/// toolchain nor kernels, which is nearly all.
///
/// Its result does not matter: the same build runs again later, visibly and to its end.
struct Ahead(Option<Child>);

impl Ahead {
    /// Starts a build. Without `nice`, nothing is built ahead.
    fn start(build: &Command) -> Self {
        Self(Self::command(build).spawn().ok())
    }

    /// The same build, at a lower priority than the foreground work.
    fn command(build: &Command) -> Command {
        let mut command = Command::new("nice");
        command.args(["-n", "5"]).arg(build.get_program()).args(build.get_args()).arg("--keep-going");
        command.envs(build.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(tools::workspace());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Waits for it.
    fn finish(mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.wait();
        }
    }
}

impl Drop for Ahead {
    /// Kills it, if the demo was aborted.
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill().and_then(|()| child.wait());
        }
    }
}

fn command(options: &Options) -> Command {
    let mut command = tools::built(&format!("examples/{DEMO}"));
    if let Some(device) = &options.device {
        command.args(["--device", device]);
    }
    if options.verbose {
        command.arg("--verbose");
    }
    command.current_dir(tools::workspace());
    command
}

/// A question to a language model, and its answer.
fn answer(options: &Options) -> Command {
    let mut command = tools::built(FERROCM);
    command.args(["generate", "--model", MODEL, "--prompt", QUESTION]);
    command.args(["--max-tokens", TOKENS, "--temperature", "0", "--verbose"]);
    if let Some(device) = &options.device {
        command.args(["--device", device]);
    }
    command.current_dir(tools::workspace());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn virtual_devices_say_what_kernels_are_compiled_for() {
        for (device, expected) in [
            ("", Some(VIRTUAL_TARGET)),
            ("auto", Some(VIRTUAL_TARGET)),
            ("vgpu", Some(VIRTUAL_TARGET)),
            ("vgpu?cus=4", Some(VIRTUAL_TARGET)),
            ("vgpu:gfx90a", Some("gfx90a")),
            ("vgpu:gfx90a:xnack-?check=all", Some("gfx90a:xnack-")),
            ("amdgpu:0", None),
            ("vgpux", None),
        ] {
            assert_eq!(target(device, false), expected, "{device}");
        }
        assert_eq!(target("auto", true), None);
        assert_eq!(target("vgpu", true), Some(VIRTUAL_TARGET));
        let text = run::describe(&build(Some("gfx90a")));
        assert!(text.ends_with("--example demo --bin ferrocm"), "{text}");
        assert!(
            build(Some("gfx90a"))
                .get_envs()
                .any(|(name, value)| name == TARGETS && value == Some("gfx90a".as_ref()))
        );
    }

    #[test]
    fn what_is_built_ahead_is_what_is_built() {
        let build = build(Some("gfx90a"));
        let ahead = Ahead::command(&build);
        assert_eq!(run::describe(&ahead), format!("nice -n 5 {} --keep-going", run::describe(&build)));
        assert_eq!(ahead.get_envs().collect::<Vec<_>>(), build.get_envs().collect::<Vec<_>>());
        assert_eq!(ahead.get_current_dir(), build.get_current_dir());
    }

    #[test]
    fn virtual_devices_have_that_target() {
        let path = tools::workspace().join("crates/vgpu/src/config.rs");
        let expected = format!("DEFAULT_TARGET: &str = \"{VIRTUAL_TARGET}\";");
        assert!(std::fs::read_to_string(path).unwrap().contains(&expected));
    }

    #[test]
    fn the_options_reach_the_program() {
        let device = Options { device: Some("vgpu:gfx90a".to_owned()), verbose: true, ..Options::default() };
        let text = run::describe(&command(&device));
        assert!(text.ends_with("examples/demo --device vgpu:gfx90a --verbose"), "{text}");
        assert!(run::describe(&command(&Options::default())).ends_with("examples/demo"));
        let text = run::describe(&answer(&device));
        assert!(text.contains("--model smollm2") && text.ends_with("--device vgpu:gfx90a"), "{text}");
    }
}
