//! The headers of all releases, for the bindings generator and the tests that compare with C. They are
//! fetched once into the cache and are never part of this repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use setup::debian::apt::{self, PrivateApt};
use setup::debian::index::with_suites;
use setup::debian::package::{self, ManifestPackage};
use setup::debian::sources::{Mirrors, without_credentials};
use setup::debian::store::Store;
use setup::debian::tested;
use setup::debian::{self, Reach, io_error};
use setup::{progress, toolchain};

use super::tree::choose;
use super::{RELEASES, Release};

/// The variable that names the folder of the headers: read here to use an existing folder, set for tests.
pub(crate) const FOLDER_VARIABLE: &str = variables::ROCM_HEADERS.name;
/// The place of the headers in a release's folder.
pub(crate) const INCLUDE: &str = "usr/include";
/// A folder of headers must contain these.
const PROBES: [&str; 2] = ["hip/hip_runtime_api.h", "hsa/hsa.h"];
const MANIFEST: &str = "manifest.json";
/// How much larger the packages are when unpacked (measured: 11).
const UNPACKED_PER_PACKED: u64 = 12;

/// Why the headers are unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "{FOLDER_VARIABLE} names {}, but {} does not exist (expected: <release>/{INCLUDE} for {})",
        folder.display(),
        missing.display(),
        RELEASES.map(|release| release.name).join(", ")
    )]
    Given { folder: PathBuf, missing: PathBuf },
    #[error(transparent)]
    Cache(#[from] toolchain::CacheError),
    #[error("the headers of ROCm {} cannot be fetched: {source}", releases.join(", "))]
    Fetch {
        releases: Vec<&'static str>,
        #[source]
        source: debian::Error,
    },
}

impl Error {
    /// The expected reason for missing headers; other errors are real faults.
    pub(crate) fn reach(&self) -> Option<Reach> {
        match self {
            Self::Fetch { source, .. } => source.reach(),
            _ => None,
        }
    }
}

/// The headers of all releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Contains `<release>/usr/include` for each release.
    pub(crate) folder: PathBuf,
    /// One line for each package that differs from the one that the checked-in bindings were generated from.
    pub(crate) differences: Vec<String>,
}

impl Headers {
    /// Warns on stderr about headers that differ from those of the checked-in bindings.
    pub(crate) fn tell_differences(&self) {
        if self.differences.is_empty() {
            return;
        }
        eprintln!(
            "note: these packages differ from those that the checked-in bindings were generated from, so the output may differ:"
        );
        for line in &self.differences {
            eprintln!("  {line}");
        }
    }

    fn in_folder(folder: PathBuf) -> Self {
        let of_release = |release: &Release| {
            let packages = Manifest::read(&folder.join(release.name)).map(|manifest| manifest.packages);
            let lines = tested::differences(&packages.unwrap_or_default(), release.headers);
            lines.into_iter().map(|line| format!("{}: {line}", release.name)).collect::<Vec<_>>()
        };
        let differences = RELEASES.iter().flat_map(of_release).collect();
        Self { folder, differences }
    }
}

/// The contents of a release's folder; stored in it as `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Manifest {
    /// Name and version of each requested package. The mirror may have had another version.
    wanted: Vec<(String, String)>,
    packages: Vec<ManifestPackage>,
}

impl Manifest {
    fn new(release: &Release, packages: Vec<ManifestPackage>) -> Self {
        Self { wanted: wanted(release), packages }
    }

    fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()
    }

    fn write(&self, folder: &Path) -> Result<(), debian::Error> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text + "\n")).map_err(io_error("write", &path))
    }
}

fn wanted(release: &Release) -> Vec<(String, String)> {
    release.headers.iter().map(|(name, version, _)| ((*name).to_owned(), (*version).to_owned())).collect()
}

/// Whether a release's folder matches what this version of the project requests. Folders are published
/// atomically, so checking the manifest suffices.
fn is_complete(folder: &Path, release: &Release) -> bool {
    Manifest::read(&folder.join(release.name)).is_some_and(|manifest| manifest.wanted == wanted(release))
        && folder.join(release.name).join(INCLUDE).is_dir()
}

fn incomplete(folder: &Path) -> Vec<&'static Release> {
    RELEASES.iter().filter(|release| !is_complete(folder, release)).collect()
}

/// The cache folder for headers.
pub(crate) fn cached_folder() -> Result<PathBuf, toolchain::CacheError> {
    Ok(toolchain::cache_folder()?.join("rocm/headers"))
}

/// The releases with headers in a folder.
pub(crate) fn present(folder: &Path) -> Vec<&'static str> {
    let has_headers = |release: &&Release| {
        PROBES.iter().all(|header| folder.join(release.name).join(INCLUDE).join(header).is_file())
    };
    RELEASES.iter().filter(has_headers).map(|release| release.name).collect()
}

/// The folder named in the environment.
pub(crate) fn given_folder() -> Option<PathBuf> {
    variables::ROCM_HEADERS.path()
}

/// The headers: those named in the environment, else those in the cache, fetched if missing.
pub(crate) fn headers() -> Result<Headers, Error> {
    if let Some(folder) = given_folder() {
        return given(folder);
    }
    let folder = cached_folder()?;
    if !incomplete(&folder).is_empty() {
        fetch(&folder)?;
    }
    Ok(Headers::in_folder(folder))
}

fn given(folder: PathBuf) -> Result<Headers, Error> {
    for release in &RELEASES {
        for header in PROBES {
            let missing = folder.join(release.name).join(INCLUDE).join(header);
            if !missing.is_file() {
                return Err(Error::Given { folder, missing });
            }
        }
    }
    // Tests run in other folders than this program.
    Ok(Headers::in_folder(std::path::absolute(&folder).unwrap_or(folder)))
}

/// Fetches what is missing in `folder`.
fn fetch(folder: &Path) -> Result<(), Error> {
    let missing = incomplete(folder);
    let releases: Vec<&'static str> = missing.iter().map(|release| release.name).collect();
    let failed = |source| Error::Fetch { releases: releases.clone(), source };
    let mirrors = debian::mirrors().map_err(failed)?;
    println!(
        "Fetching the headers of ROCm {} from {}, the mirror of {}, into {} …",
        releases.join(", "),
        without_credentials(&mirrors.main.uri),
        debian::sources_owner(),
        folder.display()
    );
    let store = Store::lock(folder).map_err(failed)?;
    // Another process that held the lock may have fetched them.
    let missing = incomplete(folder);
    if missing.is_empty() {
        return Ok(());
    }
    fetch_releases(&missing, &mirrors, &store).map_err(failed)
}

fn fetch_releases(releases: &[&Release], mirrors: &Mirrors, store: &Store) -> Result<(), debian::Error> {
    let state = apt::temporary_folder()?;
    let sources: String = releases.iter().map(|release| release.source(mirrors)).collect();
    let apt = PrivateApt::create(state.path().join("apt"), &sources)?;
    let guard = store.stage()?;
    guard.note_apt_state(state.path())?;

    let steps = progress::spinner("Fetching and verifying package indexes");
    apt.update()?;
    steps.finish_and_clear();
    for release in releases {
        let names: Vec<&str> = release.headers.iter().map(|(name, _, _)| *name).collect();
        let chosen = choose(release.headers, &release.suites(mirrors), &apt.candidates(&names)?)?;
        let files = apt.files(&chosen)?;
        let size: u64 = files.iter().map(|file| file.size).sum();
        let staging = store.stage()?;
        package::ensure_room(state.path(), size)?;
        package::ensure_room(staging.tree(), size * UNPACKED_PER_PACKED)?;
        apt.download(&files, &|_| {})?;
        for file in &files {
            package::unpack(file, &apt.downloads(), staging.tree())?;
        }
        let packages = with_suites(files, &chosen).iter().map(ManifestPackage::from).collect();
        Manifest::new(release, packages).write(staging.tree())?;
        let place = store.publish(staging, release.name)?;
        println!("ROCm {}: {}", release.name, place.join(INCLUDE).display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(name: &str) -> &'static Release {
        RELEASES.iter().find(|release| release.name == name).expect("a release")
    }

    fn manifest_package(name: &str, version: &str, sha256: &str) -> ManifestPackage {
        ManifestPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            suite: "s".to_owned(),
            sha256: sha256.to_owned(),
            uri: "u".to_owned(),
        }
    }

    /// A folder like `fetch`'s.
    fn publish(folder: &Path, release: &Release) {
        let place = folder.join(release.name);
        for header in PROBES {
            let path = place.join(INCLUDE).join(header);
            fs::create_dir_all(path.parent().expect("has a folder")).expect("folders");
            fs::write(path, "").expect("write");
        }
        let packages = release.headers.iter().map(|(n, v, h)| manifest_package(n, v, h)).collect();
        Manifest::new(release, packages).write(&place).expect("manifest");
    }

    #[test]
    fn what_is_complete_is_not_fetched_again() {
        let folder = tempfile::tempdir().expect("temp folder");
        let names = || incomplete(folder.path()).iter().map(|release| release.name).collect::<Vec<_>>();
        assert_eq!(names(), ["5.2", "5.7", "6.4", "7.2"]);
        for release in &RELEASES {
            publish(folder.path(), release);
        }
        assert_eq!(names(), [""; 0]);
        assert_eq!(present(folder.path()), ["5.2", "5.7", "6.4", "7.2"]);
        assert_eq!(Headers::in_folder(folder.path().to_owned()).differences, [""; 0]);
        // Another version of the project requested other packages.
        let manifest = Manifest { wanted: vec![("a".to_owned(), "1".to_owned())], packages: Vec::new() };
        manifest.write(&folder.path().join("6.4")).expect("write");
        assert_eq!(names(), ["6.4"]);
    }

    #[test]
    fn packages_other_than_the_tested_ones_are_told_and_kept() {
        let folder = tempfile::tempdir().expect("temp folder");
        publish(folder.path(), release("6.4"));
        let place = folder.path().join("6.4");
        let moved = manifest_package("libamdhip64-dev", "6.4.4-1", "00");
        Manifest::new(release("6.4"), vec![moved]).write(&place).expect("write");
        assert!(is_complete(folder.path(), release("6.4")));
        assert_eq!(
            Headers::in_folder(folder.path().to_owned()).differences,
            ["6.4: libamdhip64-dev 6.4.4-1 (tested: 6.4.3-5)"]
        );
    }

    #[test]
    fn a_given_folder_has_to_hold_every_release() {
        let folder = tempfile::tempdir().expect("temp folder");
        for release in &RELEASES[..3] {
            publish(folder.path(), release);
        }
        let error = given(folder.path().to_owned()).expect_err("7.2 is missing");
        assert!(
            error.to_string().contains("7.2/usr/include/hip/hip_runtime_api.h does not exist"),
            "{error}"
        );
        assert_eq!(error.reach(), None);
        publish(folder.path(), release("7.2"));
        for release in &RELEASES {
            fs::remove_file(folder.path().join(release.name).join(MANIFEST)).expect("remove");
        }
        let headers = given(folder.path().to_owned()).expect("all are there");
        assert_eq!((headers.folder.as_path(), headers.differences.len()), (folder.path(), 0));
    }

    #[test]
    fn only_what_the_machine_cannot_have_is_out_of_reach() {
        let failed = |source| Error::Fetch { releases: vec!["5.2"], source };
        let other = failed(debian::Error::Unsupported { reason: "this is Arch Linux".to_owned() });
        assert_eq!(other.reach(), Some(Reach::Never));
        let nothing = debian::Error::NoMirror { files: Vec::new() };
        assert_eq!(failed(nothing).reach(), Some(Reach::NotNow));
        let hash = debian::Error::Hash { file: "a".into(), expected: "0".into(), found: "1".into() };
        assert_eq!(failed(hash).reach(), None);
    }
}
