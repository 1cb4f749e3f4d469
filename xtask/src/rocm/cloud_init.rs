//! Debian's cloud-init, without its dependencies, for checking user data against its schema, which is plain
//! Python.

use std::path::{Path, PathBuf};

use setup::debian;
use setup::debian::tested::Tested;

use super::RELEASES;
use super::tree::{self, Packages};

/// The tested version. Ubuntu 24.04's is slightly older or newer, depending on updates.
static PACKAGES: [Tested; 1] =
    [("cloud-init", "25.1.4-1+deb13u1", "1b120a44110e7234c9cf9ccde78fb5d5ea1292c94ef0ca70d09a580f72980df3")];

/// Why it is unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cloud-init cannot be fetched: {0}")]
    Fetch(#[source] debian::Error),
    #[error("the package of cloud-init lacks {}", .0.display())]
    Incomplete(PathBuf),
}

fn packages() -> Option<Packages> {
    // It is in the same suite as this release of ROCm.
    let release = RELEASES.iter().find(|release| release.suite == super::Suite::Other("trixie"))?;
    Some(Packages {
        release,
        title: "cloud-init".to_owned(),
        place: "cloud-init".to_owned(),
        size: 10_000_000,
        packages: &[],
        alone: &PACKAGES,
        had: Vec::new(),
    })
}

/// The folder of its Python packages, fetched into `folder` if missing.
pub(crate) fn fetch(folder: &Path) -> Result<PathBuf, Error> {
    let Some(packages) = packages() else { return Err(Error::Incomplete(folder.to_owned())) };
    let complete = || packages.complete(folder);
    for line in tree::make(&packages, folder, complete).map_err(Error::Fetch)?.unwrap_or_default() {
        eprintln!("note: not the tested package: {line}");
    }
    let found = folder.join(&packages.place).join("usr/lib/python3/dist-packages");
    if found.join("cloudinit/config/schemas").is_dir() { Ok(found) } else { Err(Error::Incomplete(found)) }
}
