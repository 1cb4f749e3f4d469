//! `cargo xtask test overflow-checks`: the device tests, with overflow checks also in the virtual GPU's
//! executor.

use super::shared::{DEVICE_TESTS, Shared, execute};
use super::steps::Step;
use crate::rocm::headers;
use crate::tools;

/// The virtual device for the tests.
const DEVICE: &str = "vgpu:gfx1100";
/// The setting that the tests' profile enables everywhere except in the executor.
const OVERFLOW_CHECKS: &str = "profile.dev.package.ferrocm-vgpu-exec.overflow-checks=true";
/// The separate executor has a separate target folder, below the tests'.
const TARGET: &str = "overflow-checks";

pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let tests = || {
        let mut command = shared.nextest()?;
        command.arg("run").args(tools::WHOLE).args([
            "--config",
            OVERFLOW_CHECKS,
            "--filterset",
            DEVICE_TESTS,
        ]);
        command.arg("--target-dir").arg(tools::target_folder().join(TARGET));
        command.env("FERROCM_DEVICE", DEVICE).env_remove(headers::FOLDER_VARIABLE);
        execute(command)
    };
    vec![Step::new(format!("device tests with overflow checks on {DEVICE}"), tests)]
}
