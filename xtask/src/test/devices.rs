//! `cargo xtask test devices`: all device tests on all virtual devices.

use super::shared::{DEVICE_TESTS, Shared, execute};
use super::steps::Step;
use crate::test_devices::VIRTUAL_DEVICES;

pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    VIRTUAL_DEVICES.map(|device| step(shared, device)).into()
}

/// All device tests on one device.
pub(super) fn step<'a>(shared: &'a Shared, device: &'static str) -> Step<'a> {
    Step::new(format!("device tests on {device}"), move || execute(shared.tests(DEVICE_TESTS, Some(device))?))
}
