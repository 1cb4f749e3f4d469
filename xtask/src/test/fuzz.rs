//! `cargo xtask test fuzz`: checks that the fuzz targets compile. They are a separate workspace, which no
//! other run builds.

use super::shared::execute;
use super::steps::Step;
use crate::tools;

/// The workspace of the fuzz targets.
const MANIFEST: &str = "fuzz/Cargo.toml";
/// Its build folder, below the tests' target folder.
const TARGET: &str = "fuzz";

pub(super) fn steps<'a>() -> Vec<Step<'a>> {
    vec![Step::new("fuzz targets", || {
        let mut command = tools::cargo();
        command.args(["check", "--quiet", "--locked", "--bins", "--manifest-path", MANIFEST]);
        command.arg("--target-dir").arg(tools::target_folder().join(TARGET));
        execute(command)
    })]
}
