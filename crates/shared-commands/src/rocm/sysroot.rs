//! A release's libraries with all dependencies, down to the C library and its loader, unpacked into a folder.
//! Programs that run in it see that release and none of the machine's own libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use setup::debian;
use setup::debian::tested::Tested;

use super::tree::{self, LIBRARIES, LOADER, Packages};
use super::{RELEASES, Release};

/// The contents of a release's sysroot.
struct Contents {
    /// The release.
    release: &'static str,
    /// Unpacked size in bytes, as measured and rounded up.
    size: u64,
    /// The requested packages, as they were tested; apt adds their dependencies. For the experimental suite,
    /// every ROCm package is listed, because apt takes only explicitly requested packages from there.
    packages: &'static [Tested],
}

static CONTENTS: [Contents; 4] = [
    Contents {
        release: "5.2",
        size: 300_000_000,
        packages: &[
            ("libamd-comgr2", "5.2.3-2", "196d9e70442e78ec49dd18752acc886f500de8c9a646f6d81cb1348a7ea5c19a"),
            ("libamdhip64-5", "5.2.3-8", "e89c3757b6ca16b7a03374a0a42402ab19e9e7000251d47379838be965330ebd"),
            (
                "libhsa-runtime64-1",
                "5.2.3-3",
                "9b633756945b16124376b274dbc681e4022c2b9704b8bdfa04637b09c7bfad93",
            ),
        ],
    },
    Contents {
        release: "5.7",
        size: 1_100_000_000,
        packages: &[
            (
                "libamd-comgr2",
                "6.0+git20231212.4510c28+dfsg-3+b2",
                "e6de3c9c6b1fa5e6c87882d094484fe0ad0560c61413abd0d28582c4a40de460",
            ),
            (
                "libamdhip64-5",
                "5.7.1-6+deb13u1",
                "a60c313b59c09d776190a6e70b13337992240227f365ce4b91bb476d47a776d7",
            ),
            (
                "libhsa-runtime64-1",
                "6.1.2-3",
                "5633b84b2f6527b19d70db064cfbbaf37b426f3a1a826316de115c8acb8c196d",
            ),
            ("librccl1", "5.4.3-3+b1", "735e8e0a69f88489bdbd0a8b69bc75a376da92f1129b9ed80a38c99726bfe3a7"),
            (
                "librocblas0",
                "5.5.1+dfsg-7",
                "951dfa1a46ee275dace455f396640cfc63a47927455a0903b73c4e50030574c1",
            ),
        ],
    },
    Contents {
        release: "6.4",
        size: 1_500_000_000,
        packages: &[
            (
                "libamd-comgr3",
                "7.0.2+dfsg-3",
                "5e18fa40a84922b5b1ff9815e775ff633b0f7ca6925bea39855ab906c7e08de4",
            ),
            ("libamdhip64-6", "6.4.3-5", "0c90c3f0a1f02ab5525a11c5b1879f1cb05bee9c7a2a79aa36863f57c85f7177"),
            (
                "libhsa-runtime64-1",
                "6.4.3+dfsg-5",
                "ca6a3f8a844010ee4ccd0165af5ed21192dbfe58a1ce1f2360037fe797bf27d0",
            ),
            ("librocblas4", "6.4.4-4", "05613a07d3fba2feaa8b81a86a22bc142dd4fb6630c44c416883a33bf22a1cdb"),
        ],
    },
    Contents {
        release: "7.2",
        size: 1_400_000_000,
        packages: &[
            (
                "libamd-comgr3",
                "7.2.4+dfsg-1~exp1",
                "798c4b99a029dfc1c6e7b8eea794723308211d72d4e1364c0635118999eec089",
            ),
            (
                "libamdhip64-7",
                "7.2.4-1~exp2",
                "265743c8647c0200b014062d3fdcea617c1b7c87a214f666a86dc1da8dd53192",
            ),
            (
                "libhiprtc7",
                "7.2.4-1~exp2",
                "85b88195e47ac59c640bc57e3623030363cbedf4f145bc4fcaba88d7087a6038",
            ),
            (
                "libhsa-runtime64-1",
                "7.2.4+dfsg-1~exp1",
                "5298b55763e0f756f154f4fb9e142b0a93cb8584ef57e6f26127d295e9d08641",
            ),
            ("librccl1", "7.2.4-1~exp3", "505da86bed73fa221b97681410dcdb25a6a4b05be9bf40023a976ba9936f060f"),
            (
                "librocblas5",
                "7.2.4-1~exp1",
                "d7b0bdb3ca744edc42894c0774c0f4d2341acb42190808dc49251c0d1319b685",
            ),
            (
                "librocm-smi64-7",
                "7.2.4-1~exp1",
                "65ddafb06d8d58532f3c34c1331fa03b39438d2c1cac23586ee778136758d9e5",
            ),
            (
                "libroctx64-4",
                "7.2.4-1~exp1",
                "a5e7dc76192e02a02dd4592762e394acfc800e2c956fb79ef7b0d01569455399",
            ),
        ],
    },
];

/// Why a sysroot is unavailable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no release of that name.
    #[error("\"{name}\" is not a known ROCm release: {}, or all", names().join(", "))]
    Unknown {
        /// The requested name.
        name: String,
    },
    /// The packages cannot be fetched.
    #[error("the libraries of ROCm {release} cannot be fetched: {source}")]
    Fetch {
        /// The release.
        release: &'static str,
        /// Why.
        #[source]
        source: debian::Error,
    },
    /// The packages lack the loader.
    #[error("the packages of ROCm {release} lack {LIBRARIES}/{LOADER}, which every program needs")]
    Incomplete {
        /// The release.
        release: &'static str,
    },
}

fn names() -> Vec<&'static str> {
    RELEASES.iter().map(|release| release.name).collect()
}

/// The releases that a command line names, oldest first; `all` is all of them.
///
/// # Errors
/// There is no release of that name.
pub fn releases(given: &[String]) -> Result<Vec<&'static Release>, Error> {
    if let Some(name) = given.iter().find(|name| *name != "all" && !names().contains(&name.as_str())) {
        return Err(Error::Unknown { name: name.clone() });
    }
    let all = given.iter().any(|name| name == "all");
    Ok(RELEASES.iter().filter(|release| all || given.iter().any(|name| name == release.name)).collect())
}

/// A complete sysroot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysroot {
    /// Its release.
    pub release: &'static Release,
    folder: PathBuf,
    /// One line for each requested package that differs from the tested one.
    pub differences: Vec<String>,
}

impl Sysroot {
    /// A sysroot in a folder, without checking its contents.
    pub fn at(release: &'static Release, folder: &Path) -> Self {
        Sysroot { release, folder: folder.to_owned(), differences: Vec::new() }
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The loader, which runs programs on the sysroot's libraries.
    pub fn loader(&self) -> PathBuf {
        self.folder.join(LIBRARIES).join(LOADER)
    }
}

/// Removes variables that select or change the machine's libraries: they must not affect a sysroot.
pub fn forget_the_machine(command: &mut Command) {
    for variable in ["ROCM_PATH", "HIP_PATH", "LD_PRELOAD", "LD_LIBRARY_PATH"] {
        command.env_remove(variable);
    }
    for library in ["HSA", "HIP", "HIPRTC", "ROCBLAS", "RCCL"] {
        command.env_remove(format!("FERROCM_{library}_LIBRARY"));
    }
}

fn contents(release: &Release) -> &'static Contents {
    static NOTHING: Contents = Contents { release: "", size: 0, packages: &[] };
    CONTENTS.iter().find(|contents| contents.release == release.name).unwrap_or(&NOTHING)
}

/// The packages requested for a release's sysroot, as they were tested.
pub fn tested_packages(release: &Release) -> &'static [Tested] {
    contents(release).packages
}

/// The packages to fetch for a release's sysroot.
fn packages(release: &'static Release) -> Packages {
    let Contents { size, packages, .. } = *contents(release);
    let title = format!("ROCm {}", release.name);
    Packages { release, title, place: release.name.to_owned(), size, packages, alone: &[], had: Vec::new() }
}

/// The sysroot in `folder`, if it matches what this version of the project requests. Sysroots are published
/// atomically, so checking the manifest suffices.
fn complete(release: &'static Release, folder: &Path) -> Option<Sysroot> {
    let packages = packages(release);
    let manifest = packages.manifest(folder)?;
    let folder = folder.join(release.name);
    if !folder.join(LIBRARIES).join(LOADER).is_file() {
        return None;
    }
    Some(Sysroot { release, folder, differences: packages.differences(&manifest) })
}

/// Creates a release's sysroot in `folder`, or uses the existing one.
///
/// # Errors
/// Its packages cannot be fetched, or lack the loader.
pub fn make(release: &'static Release, folder: &Path) -> Result<Sysroot, Error> {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let made = tree::make(&packages(release), &folder, || complete(release, &folder));
    let made = made.map_err(|source| Error::Fetch { release: release.name, source })?;
    made.ok_or(Error::Incomplete { release: release.name })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use setup::debian::package::ManifestPackage;

    use super::*;
    use crate::rocm::fixtures::{manifest_package, release};
    use crate::rocm::tree::Manifest;

    /// A sysroot like `make`'s, with just the parts that are examined.
    fn publish_in(folder: &Path, release: &'static Release, packages: Vec<ManifestPackage>) {
        let place = folder.join(release.name);
        fs::create_dir_all(place.join(LIBRARIES)).expect("folders");
        fs::write(place.join(LIBRARIES).join(LOADER), "").expect("loader");
        Manifest::new(&super::packages(release), packages).write(&place).expect("manifest");
    }

    #[test]
    fn releases_are_given_by_name_once_each_and_in_order() {
        let named = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
            releases(&given).map(|found| found.iter().map(|release| release.name).collect::<Vec<_>>())
        };
        assert_eq!(named(&[]).expect("none"), [""; 0]);
        assert_eq!(named(&["7.2", "5.7", "7.2"]).expect("known"), ["5.7", "7.2"]);
        assert_eq!(named(&["5.2", "all"]).expect("all"), ["5.2", "5.7", "6.4", "7.2"]);
        let error = named(&["5.2", "6.0"]).expect_err("unknown").to_string();
        assert_eq!(error, "\"6.0\" is not a known ROCm release: 5.2, 5.7, 6.4, 7.2, or all");
    }

    #[test]
    fn every_release_has_its_packages_sorted_and_with_whole_hashes() {
        assert_eq!(RELEASES.len(), CONTENTS.len());
        for release in &RELEASES {
            let (name, packages) = (release.name, tested_packages(release));
            assert!(packages.is_sorted_by(|a, b| a.0 < b.0), "{name}");
            assert!(packages.iter().all(|(_, _, hash)| hash.len() == 64), "{name}");
            assert!(packages.iter().any(|(package, _, _)| package.starts_with("libamdhip64-")), "{name}");
        }
    }

    #[test]
    fn what_is_complete_is_taken_and_what_another_version_made_is_not() {
        let folder = tempfile::tempdir().expect("temp folder");
        let release = release("5.2");
        assert_eq!(complete(release, folder.path()), None);
        let tested = tested_packages(release)[1];
        let other = manifest_package("libc6", "1", "00");
        publish_in(folder.path(), release, vec![manifest_package(tested.0, tested.1, tested.2), other]);
        let sysroot = complete(release, folder.path()).expect("complete");
        assert_eq!(sysroot.folder(), folder.path().join("5.2"));
        assert_eq!(sysroot.differences, [""; 0]);
        // The same one is reused without network access.
        assert_eq!(make(release, folder.path()).expect("made"), sysroot);

        let moved = manifest_package(tested.0, "5.2.4-1", "00");
        publish_in(folder.path(), release, vec![moved]);
        let sysroot = complete(release, folder.path()).expect("complete");
        assert_eq!(sysroot.differences, ["libamdhip64-5 5.2.4-1 (tested: 5.2.3-8)"]);

        let place = folder.path().join("5.2");
        let mut manifest = Manifest::read(&place).expect("manifest");
        manifest.left_out.pop();
        manifest.write(&place).expect("write");
        assert_eq!(complete(release, folder.path()), None);
    }
}
