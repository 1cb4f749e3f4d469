//! `cargo xtask test kernels`: runs candle's tests and their own tests on this project's kernels, on all
//! targets, and records which kernels have run.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::{Context, Result};

use super::shared::{ALL_CHECKS, CHECK_VARIABLE, KERNEL_DEVICE_TESTS, Shared, execute};
use super::steps::{Outcome, Step};
use super::{candle, results};
use crate::test_devices::{VIRTUAL_DEVICES, target_of};

/// The folder for the tests' results about kernels, once it exists.
#[derive(Debug, Clone, Default)]
struct Results(Rc<OnceCell<PathBuf>>);

impl Results {
    fn folder(&self) -> Result<&Path> {
        self.0.get().map(PathBuf::as_path).context("there is no folder for results")
    }
}

/// Runs candle's tests on the kernels of the same names, and the device tests of all kernels; writes the page
/// of executed kernels.
pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let found = Results::default();
    let folder = {
        let found = found.clone();
        Step::new("folder for results", move || {
            let folder = results::folder()?;
            found.0.get_or_init(|| folder);
            Ok(Outcome::Passed)
        })
    };
    let own = VIRTUAL_DEVICES.map(|device| {
        let found = found.clone();
        Step::new(format!("candle's tests on own kernels on {device}"), move || {
            let kernels = candle::Kernels::Own(found.folder()?);
            let mut command = candle::command(shared.nextest()?, kernels, device);
            command.env(CHECK_VARIABLE, ALL_CHECKS);
            execute(command)
        })
    });
    let others = VIRTUAL_DEVICES.map(|device| {
        let found = found.clone();
        Step::new(format!("device tests of the kernels on {device}"), move || {
            let mut command = shared.tests(KERNEL_DEVICE_TESTS, Some(device))?;
            command.env(results::FOLDER_VARIABLE, found.folder()?).env(CHECK_VARIABLE, ALL_CHECKS);
            execute(command)
        })
    });
    let page = Step::new("page of the kernels", move || {
        let page = results::write_page(found.folder()?, &VIRTUAL_DEVICES.map(target_of))?;
        println!("{}", page.display());
        Ok(Outcome::Passed)
    });
    std::iter::once(folder).chain(own).chain(others).chain([page]).collect()
}
