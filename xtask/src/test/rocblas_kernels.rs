//! `cargo xtask test rocblas-kernels`: decodes every kernel of Debian's rocBLAS.

use anyhow::Result;
use test_skip::Lack;

use super::shared::{Shared, execute};
use super::skips;
use super::steps::{Only, Outcome, Step};
use crate::rocm::{Release, kernels, test_tools};
use crate::tools;

/// The integration test that decodes them.
const TEST: &str = "rocblas_kernels";

#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// Releases: 5.7, 6.4 and 7.2, separated by commas or spaces, or all
    #[arg(value_name = "RELEASE", value_delimiter = ',', required = true)]
    releases: Vec<String>,
    #[command(flatten)]
    pub(super) only: Only,
}

pub(super) fn steps<'a>(options: &Options, shared: &'a Shared) -> Result<Vec<Step<'a>>> {
    let releases = kernels::releases(&options.releases)?;
    Ok(releases.into_iter().flat_map(|release| of(release, shared)).collect())
}

/// Fetches a release's rocBLAS, and runs the test that decodes its kernels.
fn of<'a>(release: &'static Release, shared: &'a Shared) -> [Step<'a>; 2] {
    let folder = tools::target_folder().join("rocblas-kernels");
    let fetch = {
        let folder = folder.clone();
        move || {
            println!("The kernels are in {}", kernels::make(release, &folder)?.display());
            Ok(Outcome::Passed)
        }
    };
    let test = move || {
        let mut command = shared.nextest()?;
        command.arg("run").args(tools::WHOLE).args(["--test", TEST, "--no-capture"]);
        command.env(kernels::FOLDER_VARIABLE, kernels::make(release, &folder)?);
        test_tools::offer(&mut command, &test_tools::folder()?);
        skips::require(&mut command, &[Lack::Tool]);
        execute(command)
    };
    [
        Step::new(format!("rocBLAS's kernels of ROCm {}", release.name), fetch),
        Step::new(format!("decoding rocBLAS's kernels of ROCm {}", release.name), test),
    ]
}
