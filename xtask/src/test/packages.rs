//! `cargo xtask test packages`: the packaging program, a separate workspace, and an archive of tests.

use test_skip::Lack;

use super::shared::{Shared, execute};
use super::skips;
use super::steps::{Outcome, Step};
use crate::{package, package_tests};

pub(super) fn steps(shared: &Shared) -> Vec<Step<'_>> {
    let names = ["format of xtask/package", "lints of xtask/package", "tests of xtask/package"];
    let steps = names.into_iter().zip(package::tests()).map(|(name, mut command)| {
        Step::new(name, move || {
            shared.skips.collect(&mut command);
            skips::require(&mut command, &[Lack::Tool, Lack::Judge]);
            execute(command)
        })
    });
    let archive = Step::new("archive of tests", || package_tests::try_out().map(|()| Outcome::Passed));
    steps.chain([archive]).collect()
}
