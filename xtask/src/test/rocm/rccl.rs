//! The tests of the crate `rccl` on AMD's RCCL, over virtual GPUs: test programs of this workspace, run in a
//! sysroot.
//!
//! Each program runs as a whole, not one process per test as elsewhere: AMD's HIP unpacks the kernels of RCCL
//! in each process, which takes longer than most tests.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use setup::run;
use shared_commands::libraries::Own;
use shared_commands::rocm::run::variables;

use crate::rocm::sysroot::{self, FOLDER_VARIABLE, RELEASE_VARIABLE};
use crate::rocm::{self, Release};
use crate::test_devices::for_test_devices;
use crate::{dropin, tools};

/// The release of RCCL: older ones need things that nothing here provides.
pub(super) const RELEASE: &str = "7.2";
/// The package.
const PACKAGE: &str = "ferrocm-rccl";

/// A run of one of the test programs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// A description.
    pub(super) what: &'static str,
    /// The test program.
    program: &'static str,
    /// The virtual GPUs.
    device: &'static str,
    /// The tests; empty means all.
    tests: &'static [&'static str],
}

/// The runs. Ranks are separate processes for only a few tests, because each takes half a minute to start.
pub(super) const RUNS: [Run; 3] = [
    Run {
        what: "in one process on gfx1100",
        program: "device",
        device: "vgpu:gfx1100?cus=4&memory=512MiB&count=8",
        tests: &[],
    },
    Run {
        what: "in one process on gfx90a",
        program: "device",
        device: "vgpu:gfx90a?cus=4&memory=512MiB&count=8",
        tests: &[],
    },
    Run {
        what: "in processes on gfx1100",
        program: "processes",
        device: "vgpu:gfx1100?cus=4&memory=512MiB&count=8",
        tests: &["two_four_and_eight_processes", "killed::in_a_collective", "killed::in_a_group"],
    },
];

impl Run {
    /// Builds the program like the other tests, and runs it.
    pub(super) fn run(&self, release: &'static Release) -> Result<()> {
        let program = built(self.program)?;
        let first = dropin::before_amds(false, Own::NONE)?;
        let sysroot = sysroot::make(release, &sysroot::folder())?;
        let folder = sysroot.folder().to_owned();
        let mut command = rocm::place(sysroot, Vec::new(), first).command(&program)?;
        command.args(["--test-threads", "1", "--exact"]).args(self.tests);
        command.envs(variables(Some(self.device), Own::NONE));
        command
            .env("FERROCM_DEVICE", "amdgpu")
            .env(RELEASE_VARIABLE, release.name)
            .env(FOLDER_VARIABLE, folder);
        command.current_dir(tools::workspace().join("crates/rccl")).stdin(Stdio::null());
        run::run(&mut command)?;
        Ok(())
    }
}

/// The file of a test program.
fn built(program: &str) -> Result<PathBuf> {
    let mut command = build(program);
    let output = command.stderr(Stdio::inherit()).stdout(Stdio::piped()).output();
    let output = output.with_context(|| format!("cannot start {}", run::describe(&command)))?;
    if !output.status.success() {
        bail!("{} failed ({})", run::describe(&command), output.status);
    }
    let found = executable(&String::from_utf8_lossy(&output.stdout), program);
    found.with_context(|| format!("cargo has built no test `{program}` of {PACKAGE}"))
}

fn build(program: &str) -> Command {
    let mut command = tools::cargo();
    command.args(["test", "--no-run"]).args(tools::WHOLE).args(["--test", program, "--quiet"]);
    command.args(["--message-format", "json-render-diagnostics"]).current_dir(tools::workspace());
    for_test_devices(&mut command);
    command
}

/// The program of the package's test, from Cargo's messages.
fn executable(messages: &str, test: &str) -> Option<PathBuf> {
    /// The relevant part of a message.
    #[derive(Deserialize)]
    struct Message {
        package_id: String,
        target: Target,
        executable: Option<PathBuf>,
    }
    #[derive(Deserialize)]
    struct Target {
        name: String,
    }
    let package = format!("#{PACKAGE}@");
    let mut messages = messages.lines().filter_map(|line| serde_json::from_str::<Message>(line).ok());
    messages.find_map(|message| {
        let is_it = message.target.name == test && message.package_id.contains(&package);
        message.executable.filter(|_| is_it)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_program_is_the_packages_own() {
        let messages = r##"{"reason":"compiler-artifact","package_id":"path+file:///w/crates/hip#ferrocm-hip@0.1.0","target":{"name":"device"},"executable":"/t/device-1"}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/rccl#ferrocm-rccl@0.1.0","target":{"name":"rccl"},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///w/crates/rccl#ferrocm-rccl@0.1.0","target":{"name":"device"},"executable":"/t/device-2"}
{"reason":"build-finished","success":true}"##;
        assert_eq!(executable(messages, "device").as_deref(), Some(Path::new("/t/device-2")));
        assert_eq!(executable(messages, "processes"), None);
    }

    #[test]
    fn the_tests_are_those_of_the_sources() {
        let folder = tools::workspace().join("crates/rccl/tests");
        let source = |path: &str| std::fs::read_to_string(folder.join(path)).expect(path);
        let (main, killed) = (source("processes/main.rs"), source("processes/killed.rs"));
        for test in RUNS.iter().flat_map(|run| run.tests) {
            let (text, name) = test.strip_prefix("killed::").map_or((&main, *test), |name| (&killed, name));
            assert!(text.contains(&format!("fn {name}()")), "{test}");
        }
        assert!(folder.join("device/main.rs").is_file());
    }
}
