//! rocBLAS's compiled kernels, which sysroots do not unpack, for the test that decodes all of them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use setup::debian::apt::PrivateApt;
use setup::debian::sources::without_credentials;
use setup::debian::store::Store;
use setup::debian::tested::Tested;
use setup::debian::{self, apt, io_error, package};
use setup::progress;
use setup::table::bytes;

use super::Release;
use super::sysroot::{self, tested_packages};
use super::tree::choose;

/// Passes the folder of the kernels to the test.
pub(crate) const FOLDER_VARIABLE: &str = "FERROCM_ROCBLAS_KERNELS";
/// The files with machine code.
const PATTERNS: [&str; 2] = ["./usr/lib/*/rocblas/*.co", "./usr/lib/*/rocblas/*.hsaco"];
/// Maximum unpacked size in bytes: that of 5.5.1, whose objects are not compressed (measured and rounded up).
const SIZE: u64 = 3_500_000_000;
const MANIFEST: &str = "packages.txt";

/// Why the kernels are unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Debian has no rocBLAS of ROCm {release}")]
    None { release: &'static str },
    #[error("rocBLAS's kernels of ROCm {release} cannot be fetched: {source}")]
    Fetch {
        release: &'static str,
        #[source]
        source: debian::Error,
    },
}

fn packages(release: &Release) -> Vec<Tested> {
    tested_packages(release).iter().filter(|(name, ..)| name.starts_with("librocblas")).copied().collect()
}

/// The releases that a command line names; `all` means all with a rocBLAS.
pub(crate) fn releases(given: &[String]) -> Result<Vec<&'static Release>, sysroot::Error> {
    let is_named = |release: &Release| given.iter().any(|name| name == release.name);
    let wanted = |release: &&Release| is_named(release) || !packages(release).is_empty();
    Ok(sysroot::releases(given)?.into_iter().filter(wanted).collect())
}

/// The text of the file that describes a folder's contents and marks it as complete.
fn manifest(release: &Release) -> String {
    packages(release).iter().map(|(name, version, _)| format!("{name} {version}\n")).collect()
}

/// The folder of a release's kernels below `folder`, fetched if missing.
pub(crate) fn make(release: &'static Release, folder: &Path) -> Result<PathBuf, Error> {
    if packages(release).is_empty() {
        return Err(Error::None { release: release.name });
    }
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let failed = |source| Error::Fetch { release: release.name, source };
    let place = folder.join(release.name);
    let is_complete = || fs::read_to_string(place.join(MANIFEST)).is_ok_and(|text| text == manifest(release));
    if is_complete() {
        return Ok(place);
    }
    let store = Store::lock(&folder).map_err(failed)?;
    // Another process that held the lock may have fetched them.
    if is_complete() {
        return Ok(place);
    }
    fetch(release, &store).map_err(failed)
}

fn fetch(release: &Release, store: &Store) -> Result<PathBuf, debian::Error> {
    let mirrors = debian::mirrors()?;
    let state = apt::temporary_folder()?;
    let staging = store.stage()?;
    staging.note_apt_state(state.path())?;
    let steps = progress::spinner("Fetching and verifying package indexes");
    let apt = PrivateApt::create(state.path().join("apt"), &release.source(&mirrors))?;
    apt.update()?;
    let wanted = packages(release);
    let names: Vec<&str> = wanted.iter().map(|(name, ..)| *name).collect();
    let files = apt.files(&choose(&wanted, &release.suites(&mirrors), &apt.candidates(&names)?)?)?;
    steps.finish_and_clear();
    let total: u64 = files.iter().map(|file| file.size).sum();
    println!(
        "rocBLAS of ROCm {}: {} to download from {}, the mirror of {}",
        release.name,
        bytes(total),
        without_credentials(&mirrors.main.uri),
        debian::sources_owner()
    );
    package::ensure_room(state.path(), total)?;
    package::ensure_room(staging.tree(), SIZE)?;
    let bar = progress::bar(total, "Downloading", "{bytes}/{total_bytes}");
    apt.download(&files, &|here| bar.set_position(here))?;
    bar.finish_and_clear();
    let steps = progress::spinner("Unpacking");
    for file in &files {
        package::unpack_only(file, &apt.downloads(), staging.tree(), &PATTERNS)?;
    }
    steps.finish_and_clear();
    let path = staging.tree().join(MANIFEST);
    let written: io::Result<()> = fs::write(&path, manifest(release));
    written.map_err(io_error("write", &path))?;
    store.publish(staging, release.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocm::RELEASES;

    #[test]
    fn releases_with_a_rocblas_name_its_package() {
        let named: Vec<_> = RELEASES.iter().map(manifest).collect();
        assert_eq!(
            named,
            ["", "librocblas0 5.5.1+dfsg-7\n", "librocblas4 6.4.4-4\n", "librocblas5 7.2.4-1~exp1\n"]
        );
    }

    #[test]
    fn all_are_those_with_a_rocblas() {
        let names = |given: &str| -> Vec<_> {
            let found = releases(&[given.to_owned()]).unwrap();
            found.into_iter().map(|release| release.name).collect()
        };
        assert_eq!(names("all"), ["5.7", "6.4", "7.2"]);
        assert_eq!(names("5.2"), ["5.2"], "which is an error later");
        assert!(releases(&["5.9".to_owned()]).is_err());
    }
}
