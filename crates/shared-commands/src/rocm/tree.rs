//! Debian packages that are fetched together and unpacked into one tree: a sysroot, or an addition to one.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use setup::debian::apt::{self, PrivateApt};
use setup::debian::index::{Candidate, Resolved, with_suites};
use setup::debian::package::{self, ManifestPackage};
use setup::debian::sources::{Mirrors, without_credentials};
use setup::debian::store::Store;
use setup::debian::tested::{self, Tested};
use setup::debian::{self, io_error};
use setup::progress;
use setup::table::bytes;

use super::{Release, Suite};

/// Paths that are not unpacked: documentation, and rocBLAS's kernels for targets that the virtual GPU does
/// not execute (up to 2 GB per release).
pub(super) const LEFT_OUT: [&str; 12] = [
    "./usr/share/doc/*",
    "./usr/share/man/*",
    "*/rocblas/*gfx[678]*",
    "*/rocblas/*gfx90[!a]*",
    "*/rocblas/*gfx94[!2]*",
    "*/rocblas/*gfx95*",
    "*/rocblas/*gfx101*",
    "*/rocblas/*gfx103[!0]*",
    "*/rocblas/*gfx11[!0]*",
    "*/rocblas/*gfx110[!0]*",
    "*/rocblas/*gfx120[!1]*",
    "*/rocblas/*gfx12[!0]*",
];
/// Where the libraries are.
pub const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// The loader, among them.
pub const LOADER: &str = "ld-linux-x86-64.so.2";
const MANIFEST: &str = "manifest.json";
/// Experimental holds few packages; their dependencies are in the suite below it.
const BELOW_EXPERIMENTAL: &str = "sid";

/// The contents of one tree.
#[derive(Debug, Clone)]
pub struct Packages {
    /// The release that they belong to.
    pub release: &'static Release,
    /// Their name in messages.
    pub title: String,
    /// The tree's folder, among the sysroots.
    pub place: String,
    /// Unpacked size in bytes, as measured and rounded up.
    pub size: u64,
    /// The requested packages, as they were tested; apt adds their dependencies. For the experimental suite,
    /// every ROCm package is listed, because apt takes only explicitly requested packages from there.
    pub packages: &'static [Tested],
    /// Packages fetched without their dependencies, because no suite has all of these.
    pub alone: &'static [Tested],
    /// Names and versions of packages in another tree, which this one does not repeat.
    pub had: Vec<(String, String)>,
}

impl Packages {
    fn wanted(&self) -> impl Iterator<Item = &'static Tested> {
        self.packages.iter().chain(self.alone)
    }

    /// The manifest of the tree in `folder`, if it exists and matches what this version of the project
    /// requests.
    pub(super) fn manifest(&self, folder: &Path) -> Option<Manifest> {
        let manifest = Manifest::read(&folder.join(&self.place))?;
        let expected = Manifest::new(self, Vec::new());
        (manifest.wanted == expected.wanted && manifest.left_out == expected.left_out).then_some(manifest)
    }

    /// If the tree in `folder` exists and matches what this version of the project requests: one line for
    /// each requested package that differs from the tested one.
    pub fn complete(&self, folder: &Path) -> Option<Vec<String>> {
        self.manifest(folder).map(|manifest| self.differences(&manifest))
    }

    /// One line for each requested package that differs from the tested one.
    pub(super) fn differences(&self, manifest: &Manifest) -> Vec<String> {
        let tested: Vec<Tested> = self.wanted().copied().collect();
        let asked_for = |package: &&ManifestPackage| tested.iter().any(|(name, ..)| *name == package.name);
        let asked_for: Vec<_> = manifest.packages.iter().filter(asked_for).cloned().collect();
        tested::differences(&asked_for, &tested)
    }

    /// The suites to search for the requested packages.
    fn suites<'a>(&self, mirrors: &'a Mirrors) -> Vec<&'a str> {
        let mut suites = self.release.suites(mirrors);
        if self.release.suite == Suite::Other("experimental") {
            suites.push(BELOW_EXPERIMENTAL);
        }
        suites
    }
}

/// The contents of a tree; stored in it as `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Name and version of each requested package. The mirror may have had another version.
    wanted: Vec<(String, String)>,
    /// What was not unpacked.
    pub(super) left_out: Vec<String>,
    /// What was unpacked.
    pub(super) packages: Vec<ManifestPackage>,
}

impl Manifest {
    pub(super) fn new(packages: &Packages, unpacked: Vec<ManifestPackage>) -> Self {
        let wanted = packages.wanted().map(|(name, version, _)| ((*name).to_owned(), (*version).to_owned()));
        Self { wanted: wanted.collect(), left_out: LEFT_OUT.map(str::to_owned).to_vec(), packages: unpacked }
    }

    pub(super) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(MANIFEST)).ok()?).ok()
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), debian::Error> {
        let path = folder.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text + "\n")).map_err(io_error("write", &path))
    }
}

/// The result of `complete` for `folder`, after fetching the packages if it found nothing.
///
/// # Errors
/// The packages cannot be fetched.
pub fn make<T>(
    packages: &Packages,
    folder: &Path,
    complete: impl Fn() -> Option<T>,
) -> Result<Option<T>, debian::Error> {
    if let Some(found) = complete() {
        return Ok(Some(found));
    }
    let mirrors = debian::mirrors()?;
    let store = Store::lock(folder)?;
    // Another process that held the lock may have created it.
    if let Some(found) = complete() {
        return Ok(Some(found));
    }
    fetch(packages, &mirrors, &store)?;
    Ok(complete())
}

fn fetch(packages: &Packages, mirrors: &Mirrors, store: &Store) -> Result<(), debian::Error> {
    let state = apt::temporary_folder()?;
    let staging = store.stage()?;
    staging.note_apt_state(state.path())?;

    let steps = progress::spinner("Fetching and verifying package indexes");
    let apt = PrivateApt::create(state.path().join("apt"), &sources(packages.release, mirrors))?;
    apt.update()?;
    let resolved = resolve(packages, &packages.suites(mirrors), &apt)?;
    steps.finish_and_clear();
    let total: u64 = resolved.iter().map(|package| package.file.size).sum();
    // Standard output belongs to the program to run.
    eprintln!(
        "{}: {} packages, {} to download from {}, the mirror of {}; {} on disk",
        packages.title,
        resolved.len(),
        bytes(total),
        without_credentials(&mirrors.main.uri),
        debian::sources_owner(),
        bytes(packages.size)
    );
    package::ensure_room(state.path(), total)?;
    package::ensure_room(staging.tree(), packages.size)?;

    let bar = progress::bar(total, "Downloading", "{bytes}/{total_bytes}");
    let files: Vec<_> = resolved.iter().map(|package| package.file.clone()).collect();
    apt.download(&files, &|here| bar.set_position(here))?;
    bar.finish_and_clear();

    let bar = progress::bar(files.len() as u64, "Unpacking", "{pos}/{len}");
    for file in &files {
        package::unpack_without(file, &apt.downloads(), staging.tree(), &LEFT_OUT)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let manifest = Manifest::new(packages, resolved.iter().map(ManifestPackage::from).collect());
    manifest.write(staging.tree())?;
    let place = store.publish(staging, &packages.place)?;
    eprintln!("{}: {}", packages.title, place.display());
    Ok(())
}

/// The release's suites and, for experimental, the suite below it.
fn sources(release: &Release, mirrors: &Mirrors) -> String {
    let mut text = release.source(mirrors);
    if release.suite == Suite::Other("experimental") {
        text.push_str(&apt::stanza(&mirrors.main, &[BELOW_EXPERIMENTAL], Some(false)));
    }
    text
}

/// The packages and their dependencies, each in the tested version, or else the best one of the release's
/// suites.
fn resolve(packages: &Packages, suites: &[&str], apt: &PrivateApt) -> Result<Vec<Resolved>, debian::Error> {
    let chosen = |tested: &[Tested]| {
        let names: Vec<&str> = tested.iter().map(|(name, ..)| *name).collect();
        if names.is_empty() { Ok(Vec::new()) } else { choose(tested, suites, &apt.candidates(&names)?) }
    };
    let exact = |name: &str, version: &str| format!("{name}={version}");
    let roots = chosen(packages.packages)?;
    let mut roots: Vec<String> =
        roots.iter().map(|Candidate { name, version, .. }| exact(name, version)).collect();
    let mut closure = Vec::new();
    if !roots.is_empty() {
        // The mirror may have newer versions by now; the other tree keeps the versions that it was created
        // with.
        let names: Vec<&str> = packages.had.iter().map(|(name, _)| name.as_str()).collect();
        let offered = if names.is_empty() { Vec::new() } else { apt.candidates(&names)? };
        let is_offered = |(name, version): &&(String, String)| {
            offered.iter().any(|candidate| candidate.name == *name && candidate.version == *version)
        };
        roots.extend(packages.had.iter().filter(is_offered).map(|(name, version)| exact(name, version)));
        closure = apt.closure(&roots)?;
        closure.retain(|file| packages.had.iter().all(|(name, _)| *name != file.name));
    }
    closure.extend(apt.files(&chosen(packages.alone)?)?);
    let names: Vec<&str> = closure.iter().map(|file| file.name.as_str()).collect();
    let candidates = apt.candidates(&names)?;
    Ok(with_suites(closure, &candidates))
}

/// For each package, the tested version, or else the best one in the suites.
///
/// # Errors
/// A package is in none of the suites.
pub fn choose(
    packages: &[Tested],
    suites: &[&str],
    offered: &[Candidate],
) -> Result<Vec<Candidate>, debian::Error> {
    let mut chosen = Vec::new();
    let mut missing = Vec::new();
    for (name, version, _) in packages {
        let here = || offered.iter().filter(|c| c.name == *name && suites.contains(&c.suite.as_str()));
        match here().find(|candidate| candidate.version == *version).or_else(|| here().next()) {
            Some(candidate) => chosen.push(candidate.clone()),
            None => missing.push((*name).to_owned()),
        }
    }
    match missing.is_empty() {
        true => Ok(chosen),
        false => Err(debian::Error::NotFound {
            packages: missing,
            suites: suites.iter().map(|suite| (*suite).to_owned()).collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use setup::debian::index::parse_madison;
    use setup::debian::sources::{debian_mirrors, parse_list};

    use super::*;
    use crate::rocm::fixtures::release;

    #[test]
    fn the_tested_version_is_chosen_over_newer_ones_and_suites() {
        let offered = parse_madison(
            "libamdhip64-dev | 7.2.4-1~exp2 | http://m.example experimental/main amd64 Packages\n\
             libamdhip64-dev | 6.4.3-6 | http://m.example sid/main amd64 Packages\n\
             libamdhip64-dev | 6.4.3-5 | http://m.example sid/main amd64 Packages\n\
             libhsa-runtime-dev | 7.0.1-1 | http://m.example sid/main amd64 Packages\n\
             librocblas-dev | 6.4.4-4 | http://m.example sid/main amd64 Packages\n",
        );
        let chosen = choose(release("6.4").headers, &["sid"], &offered).expect("all are there");
        let versions: Vec<&str> = chosen.iter().map(|candidate| candidate.version.as_str()).collect();
        assert_eq!(versions, ["6.4.3-5", "7.0.1-1", "6.4.4-4"]);
        let error =
            choose(release("6.4").headers, &["sid"], &offered[..3]).expect_err("two are missing").to_string();
        assert_eq!(error, "not found in sid: libhsa-runtime-dev, librocblas-dev");
    }

    #[test]
    fn experimental_stands_on_sid() {
        let mirrors = debian_mirrors(&parse_list("deb http://a.example/debian bookworm main")).expect("main");
        let newest = sources(release("7.2"), &mirrors);
        assert!(newest.contains("Suites: experimental\n") && newest.contains("Suites: sid\n"), "{newest}");
        assert!(!sources(release("5.7"), &mirrors).contains("sid"));
    }

    #[test]
    fn kernels_of_the_virtual_targets_are_unpacked_and_no_others() {
        let folder = tempfile::tempdir().expect("temp folder");
        let place = folder.path().join("usr/lib/x/rocblas/library");
        fs::create_dir_all(&place).expect("folders");
        let here = ["gfx90a", "gfx90a-xnack+", "gfx942", "gfx1030", "gfx1100", "gfx1201"];
        let elsewhere =
            ["gfx803", "gfx900", "gfx906", "gfx908", "gfx950", "gfx1010", "gfx1031", "gfx1101", "gfx1102"];
        let elsewhere = [&elsewhere[..], &["gfx1151", "gfx1200", "gfx1250", "gfx940", "gfx1036"]].concat();
        for target in here.iter().chain(&elsewhere) {
            fs::write(place.join(format!("Kernels.so-000-{target}.hsaco")), "").expect("file");
        }
        fs::write(place.join("TensileLibrary_Type_DD_fallback.dat"), "").expect("file");
        let run = |command: &mut std::process::Command| {
            setup::run::capture(command).unwrap_or_else(|error| panic!("{error}"))
        };
        let archive = folder.path().join("a.tar");
        run(std::process::Command::new("tar")
            .arg("-cf")
            .arg(&archive)
            .arg("-C")
            .arg(folder.path())
            .arg("./usr"));
        let mut list = std::process::Command::new("tar");
        list.arg("-tf").arg(&archive).args(LEFT_OUT.map(|pattern| format!("--exclude={pattern}")));
        let listed = run(&mut list);
        for target in here {
            assert!(listed.contains(&format!("-{target}.hsaco")), "{target}");
        }
        for target in elsewhere {
            assert!(!listed.contains(&format!("-{target}.hsaco")), "{target}");
        }
        assert!(listed.contains("TensileLibrary_Type_DD_fallback.dat"), "{listed}");
    }
}
