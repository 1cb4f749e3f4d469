//! `cargo xtask test devices`: all device tests on all virtual devices, with all cases of those that have
//! many.

use super::shared::{DEVICE_TESTS, Shared, execute};
use super::steps::Step;
use crate::test_devices::VIRTUAL_DEVICES;

pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let whole = |device: &'static str| {
        Step::new(format!("device tests on {device}"), move || {
            let mut tests = shared.tests(DEVICE_TESTS, Some(device))?;
            tests.env(test_skip::CASES_VARIABLE, "all");
            execute(tests)
        })
    };
    VIRTUAL_DEVICES.map(whole).into()
}

/// All device tests on one device.
pub(super) fn step<'a>(shared: &'a Shared, device: &'static str) -> Step<'a> {
    Step::new(format!("device tests on {device}"), move || execute(shared.tests(DEVICE_TESTS, Some(device))?))
}
