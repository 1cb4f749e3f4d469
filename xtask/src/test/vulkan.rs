//! `cargo xtask test vulkan`: tests of memory shared by Vulkan and HIP, with Mesa's Vulkan on the CPU.

use super::shared::{Shared, execute};
use super::steps::{Outcome, Step};
use crate::rocm::{lavapipe, sysroot};
use crate::test_devices::WAVE_SIZE_DEVICES;
use crate::tools::WHOLE;

/// The test program, the only one with that name.
pub(super) const PROGRAM: &str = "vulkan";

/// Fetches lavapipe, and runs the tests of memory shared with virtual GPUs, with waves of 32 and of 64 lanes.
pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for version in &lavapipe::VERSIONS {
        steps.push(Step::new(format!("lavapipe of Mesa {}", version.mesa), || {
            println!("{}", version.fetch(&sysroot::folder())?.display());
            Ok(Outcome::Passed)
        }));
        steps.extend(WAVE_SIZE_DEVICES.map(|device| {
            Step::new(format!("{device} and Vulkan of Mesa {}", version.mesa), move || {
                let mut command = shared.nextest()?;
                command.arg("run").args(WHOLE).args(["--test", PROGRAM]);
                command.args(["--no-fail-fast"]).env("FERROCM_DEVICE", device);
                version.apply(&mut command, &sysroot::folder())?;
                execute(command)
            })
        }));
    }
    steps
}
