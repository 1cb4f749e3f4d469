//! `cargo xtask test related`: the kernels on targets that no other suite uses, and listings of kernels that
//! no other suite compiles.

use super::shared::{KERNEL_DEVICE_TESTS, Shared, execute};
use super::steps::Step;
use crate::test_devices::{related_devices, targets_of};
use crate::tools::TARGETS;

/// Compares listings with LLVM's, here also for kernels that no other suite compiles.
const LISTINGS: &str = "package(ferrocm-vgpu-isa) & test(/^listing::/)";

/// Compiles the kernels for these targets, and runs their tests there.
pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let tests = related_devices().into_iter().map(|device| {
        Step::new(format!("device tests of the kernels on {device}"), move || {
            let mut command = shared.tests(KERNEL_DEVICE_TESTS, Some(&device))?;
            command.env(TARGETS, targets_of(&related_devices()).join(","));
            execute(command)
        })
    });
    let listings = Step::new("listings for related targets", || {
        let mut command = shared.tests(LISTINGS, None)?;
        command.args(["--run-ignored", "all"]).env(TARGETS, targets_of(&related_devices()).join(","));
        execute(command)
    });
    tests.chain([listings]).collect()
}
