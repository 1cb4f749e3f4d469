//! What can be put beside a release's sysroot: libraries that it lacks, AMD's tools, and the test programs of AMD's
//! libraries. Each is a tree of its own, which holds no package that the sysroot has.

use std::path::{Path, PathBuf};

use setup::debian;
use setup::debian::tested::Tested;

use super::sysroot::Sysroot;
use super::tree::{self, Manifest, Packages};

/// One of them.
#[derive(Debug)]
pub(crate) struct Addition {
    /// The release.
    release: &'static str,
    /// What it is called on command lines.
    pub(crate) name: &'static str,
    /// What it holds.
    pub(crate) holds: &'static str,
    /// Bytes that it takes when unpacked, as measured and rounded up.
    size: u64,
    /// The packages that are asked for, as they were tested.
    packages: &'static [Tested],
    /// Those that are fetched without what they depend on.
    alone: &'static [Tested],
}

/// All of them, by name.
static ADDITIONS: [Addition; 8] = [
    Addition {
        release: "7.2",
        name: "hsa",
        holds: "rocrtst64, the tests of the HSA runtime",
        size: 4_000_000,
        packages: &[
            ("libhwloc15", "2.15.0-2", "101bb1677a7ac0ea4149215eebcbf3d6a4812605d7e1627feb65eeb40a441a55"),
            ("libudev1", "262.1-1", "c0e98e3cc94e2b1c7d7346cdb1f89b0a3ed2e1cc76dc744696094e030f29205f"),
        ],
        // It depends on libamd-smi26, which no suite has.
        alone: &[(
            "libhsa-runtime64-tests",
            "7.2.4+dfsg-1~exp1",
            "cb9258623dac91aeacc6112756ac6837614e48493fa0242f9787a67203891802",
        )],
    },
    Addition {
        release: "7.2",
        name: "rccl",
        holds: "the tests of RCCL",
        size: 4_000_000,
        packages: &[(
            "librccl1-tests",
            "7.2.4-1~exp3",
            "10e8d5faaae98a1f49c640df1ee6bf6f1a566821d5507baecfe8ce49d56afaba",
        )],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocblas",
        holds: "rocblas-test, the tests of rocBLAS",
        size: 1_000_000_000,
        packages: &[
            (
                "librocblas5-tests",
                "7.2.4-1~exp1",
                "a47f7c90b9d440c117876f5b1b32466cbbc53a6657f3e73ec3f510cff9b8592e",
            ),
            (
                "librocblas5-tests-data",
                "7.2.4-1~exp1",
                "d38c0869c09bc50c58cea6761dff51e939f03077964917fffad1af9222c88733",
            ),
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocfft",
        holds: "rocFFT and its tests",
        size: 100_000_000,
        packages: &[
            (
                "librocfft0",
                "7.2.4-1~exp1",
                "9c19c237198365ef45a21d22bf1691b10f92776f730c0146d16ff409ca15c3a4",
            ),
            (
                "librocfft0-tests",
                "7.2.4-1~exp1",
                "135988e79b2f9e341f94f9f4eea5c77e619b75c06aaa60e62f4b0d5719fc85a7",
            ),
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocm-smi",
        holds: "rocm-smi, a Python script, and Python",
        size: 60_000_000,
        packages: &[(
            "rocm-smi",
            "7.2.4-1~exp1",
            "8ff703f5ff65f378daa4f23063c896cf876b743665d9abd80fbf03cd4d1ca000",
        )],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocminfo",
        holds: "rocminfo; rocm_agent_enumerator, a Python script, and Python",
        size: 60_000_000,
        packages: &[(
            "rocminfo",
            "7.2.4-1",
            "ffbf4cc415e291015c8ad56e8d6614d941633a8a44b22de79304e763cbf3be8b",
        )],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocprim",
        holds: "the tests of rocPRIM, a program for each algorithm",
        size: 4_000_000_000,
        packages: &[(
            "librocprim-tests",
            "7.2.4-1~exp1",
            "df5757ea3545c1b3243ed580eb6ddf269abd346d0373d6fe6979d33e064a9aea",
        )],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocrand",
        holds: "rocRAND and its tests",
        size: 1_100_000_000,
        packages: &[
            (
                "librocrand1",
                "7.2.4-1~exp1",
                "9926865e63fa2dcb4224a7f78774ab1dc5ace888372f1e87e7f0c3ab16135258",
            ),
            (
                "librocrand1-tests",
                "7.2.4-1~exp1",
                "8907397a9c0cef8b7faba82d0dfa9541add5e63c7e56103bb3a94b09a93f6b82",
            ),
        ],
        alone: &[],
    },
];

/// Why there is none.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("\"{name}\" is nothing that is known here for ROCm {release}{}", known(release))]
    Unknown { name: String, release: &'static str },
    #[error("the packages of {name} for ROCm {release} cannot be had: {source}")]
    Fetch {
        name: &'static str,
        release: &'static str,
        #[source]
        source: debian::Error,
    },
}

fn known(release: &str) -> String {
    let known = of(release).map(|addition| format!("\n  {:9} {}", addition.name, addition.holds));
    let known: String = known.collect();
    if known.is_empty() { ", which has no additions".to_owned() } else { format!("; there are{known}") }
}

/// All of a release, by name.
pub(crate) fn of(release: &str) -> impl Iterator<Item = &'static Addition> {
    ADDITIONS.iter().filter(move |addition| addition.release == release)
}

/// Those that a command line names, once each.
pub(crate) fn named(given: &[String], release: &'static str) -> Result<Vec<&'static Addition>, Error> {
    let unknown = |name: &&String| of(release).all(|addition| addition.name != **name);
    if let Some(name) = given.iter().find(unknown) {
        return Err(Error::Unknown { name: name.clone(), release });
    }
    Ok(of(release).filter(|addition| given.iter().any(|name| name == addition.name)).collect())
}

impl Addition {
    fn packages(&self, sysroot: &Sysroot) -> Packages {
        let had = Manifest::read(sysroot.folder()).map(|manifest| manifest.packages).unwrap_or_default();
        Packages {
            release: sysroot.release,
            title: format!("{} for ROCm {}", self.name, self.release),
            place: format!("{}-{}", self.release, self.name),
            size: self.size,
            packages: self.packages,
            alone: self.alone,
            had: had.into_iter().map(|package| (package.name, package.version)).collect(),
        }
    }

    /// The folder of its tree beside a sysroot, fetched if it is not there.
    pub(crate) fn make(&self, sysroot: &Sysroot) -> Result<PathBuf, Error> {
        let folder = sysroot.folder().parent().unwrap_or(Path::new("."));
        let packages = self.packages(sysroot);
        let place = folder.join(&packages.place);
        let complete = || packages.manifest(folder).map(|manifest| packages.differences(&manifest));
        let made = tree::make(&packages, folder, complete);
        let made = made.map_err(|source| Error::Fetch { name: self.name, release: self.release, source })?;
        for line in made.unwrap_or_default() {
            eprintln!("note: not the package that was tried here: {line}");
        }
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rocm::fixtures::release;
    use crate::rocm::sysroot::tested_packages;

    #[test]
    fn additions_are_sorted_whole_and_of_a_known_release() {
        assert!(ADDITIONS.is_sorted_by(|a, b| (a.release, a.name) < (b.release, b.name)));
        for addition in &ADDITIONS {
            let packages = || addition.packages.iter().chain(addition.alone);
            assert!(packages().all(|(_, _, hash)| hash.len() == 64), "{}", addition.name);
            assert!(addition.packages.is_sorted_by(|a, b| a.0 < b.0), "{}", addition.name);
            let has = tested_packages(release(addition.release));
            assert!(
                packages().all(|(name, ..)| has.iter().all(|(other, ..)| name != other)),
                "{}",
                addition.name
            );
        }
    }

    #[test]
    fn names_are_taken_once_and_unknown_ones_say_what_there_is() {
        let given = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            named(&names, "7.2").map(|found| found.iter().map(|addition| addition.name).collect::<Vec<_>>())
        };
        assert_eq!(given(&["rocrand", "rccl", "rocrand"]).expect("known"), ["rccl", "rocrand"]);
        let error = given(&["rccl", "cublas"]).expect_err("unknown").to_string();
        assert!(
            error.starts_with("\"cublas\" is nothing") && error.contains("\n  rccl      the tests"),
            "{error}"
        );
        let error = named(&["rccl".to_owned()], "5.2").expect_err("none").to_string();
        assert!(error.ends_with("for ROCm 5.2, which has no additions"), "{error}");
    }
}
