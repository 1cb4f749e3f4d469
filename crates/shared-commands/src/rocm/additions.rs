//! Additions to a release's sysroot: libraries that it lacks, AMD's tools, and the test programs of AMD's
//! libraries. Each is a separate tree, without the sysroot's packages.

use std::path::{Path, PathBuf};

use setup::debian;
use setup::debian::tested::Tested;

use super::sysroot::Sysroot;
use super::tree::{self, Manifest, Packages};

/// One of them.
#[derive(Debug)]
pub struct Addition {
    /// The release.
    release: &'static str,
    /// Its name on command lines.
    pub name: &'static str,
    /// What it holds.
    pub holds: &'static str,
    /// Unpacked size in bytes, as measured and rounded up.
    size: u64,
    /// The requested packages, as they were tested.
    packages: &'static [Tested],
    /// Packages fetched without their dependencies.
    alone: &'static [Tested],
}

// Libraries that more than one of them holds.
const HIPRAND: Tested =
    ("libhiprand1", "7.2.4-1~exp1", "ffe4c8c43dbc86ffea84123a263aa667255c93253639edf4ab2101b74ef73b0c");
const HIPSPARSE: Tested =
    ("libhipsparse4", "7.2.4-1~exp1", "21198c9110dbe53bf656887aa0e76074362d55d4a01836e6aff033fe3fafa93f");
const ROCFFT: Tested =
    ("librocfft0", "7.2.4-1~exp1", "9c19c237198365ef45a21d22bf1691b10f92776f730c0146d16ff409ca15c3a4");
const ROCRAND: Tested =
    ("librocrand1", "7.2.4-1~exp1", "9926865e63fa2dcb4224a7f78774ab1dc5ace888372f1e87e7f0c3ab16135258");
const ROCSOLVER: Tested =
    ("librocsolver0", "7.2.4-1~exp1+b1", "851981df23b9d2a5f00399b57498ac8efbccd203639283e28eb2a3154bc6b717");
const ROCSPARSE: Tested =
    ("librocsparse1", "7.2.4-1~exp1", "b45eca42324826583edea4057497ad708e41cc55702b9899be7f5d862b171151");

/// All of them, by name.
static ADDITIONS: &[Addition] = &[
    Addition {
        release: "7.2",
        name: "hipcub",
        holds: "the tests of hipCUB, a program for each algorithm",
        size: 1_200_000_000,
        packages: &[(
            "libhipcub-tests",
            "7.2.4-1~exp1",
            "d0c9572779e7867de16499fa765979e65178ff398bb056b7c2a35bee7b70b705",
        )],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "hipfft",
        holds: "hipFFT and its tests",
        size: 550_000_000,
        packages: &[
            (
                "libfftw3-double3",
                "3.3.11-1",
                "5700f1129eb692e5d7f3f19e1d06d00bf75bad2ed16806bf0ed09773e4842f57",
            ),
            (
                "libfftw3-single3",
                "3.3.11-1",
                "db75f0947f85db7b76f57862d22ec49c9fb47f362fb4778918b90458829ba25b",
            ),
            (
                "libhipfft0",
                "7.2.4-1~exp1",
                "fb9289170ded98fc9d473929783f5adfb9a14029a5c4a9d7e68adc13d436a86d",
            ),
            HIPRAND,
            ROCFFT,
            ROCRAND,
        ],
        // It depends on header files that are not needed here.
        alone: &[(
            "libhipfft0-tests",
            "7.2.4-1~exp1",
            "f07bc35aa15f40d65ef0a1882580d8d95f6f61cd191ec9db857d3055068d5b5c",
        )],
    },
    Addition {
        release: "7.2",
        name: "hiprand",
        holds: "hipRAND and its tests",
        size: 550_000_000,
        packages: &[
            HIPRAND,
            (
                "libhiprand1-tests",
                "7.2.4-1~exp1",
                "bb78a2143c7b956c672680eb015793eed15e1dc8c4079ba7fb87ac55eee6aacb",
            ),
            ROCRAND,
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "hipsolver",
        holds: "hipSOLVER and its tests",
        size: 1_200_000_000,
        packages: &[
            (
                "libhipsolver1",
                "7.2.4-1~exp1",
                "140196e1838b17f7503cd7415e74dbc0074629b471b61590ebd22fc677b68c86",
            ),
            (
                "libhipsolver1-tests",
                "7.2.4-1~exp1",
                "8b351c74ba9a377ab816ddac0dc72446f04b908d8588bffe1798650ebe22c563",
            ),
            (
                "libhipsolver1-tests-data",
                "7.2.4-1~exp1",
                "51630e469ef83b661e7c43783b93962ea1abc20fd617dbfe3ce3b3f0d1a54a8c",
            ),
            HIPSPARSE,
            ROCSOLVER,
            ROCSPARSE,
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "hipsparse",
        holds: "hipSPARSE and its tests",
        size: 500_000_000,
        packages: &[
            HIPSPARSE,
            (
                "libhipsparse4-tests",
                "7.2.4-1~exp1",
                "4abcf32704feeac444fcd0d627920ab18d1c4f0d16f572c65effad70a05bf594",
            ),
            ROCSPARSE,
        ],
        alone: &[],
    },
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
        name: "opencl",
        holds: "AMD's OpenCL, clinfo, and pyopencl with Python",
        size: 250_000_000,
        packages: &[
            ("clinfo", "3.0.25.02.14-1", "f6d340110fd4bdfc0b0135f29fef5c739a091de4e25635c5ac4c0e9c3003f0b6"),
            (
                "python3-pyopencl",
                "2025.1-2+b2",
                "67a776849e5d7143b086bdcb3521dd62853238468f829ae6e059387e5e80f39a",
            ),
            ("python3-pytest", "9.1.1-1", "878b10659954dd1903142ecf9587c6b2c8fa5b3569becf313460d297fc9c47cc"),
            (
                "rocm-opencl-icd",
                "7.2.4-1~exp2",
                "2832885e6c857e332910ce5a0a18860b18f5a315d0d782fc415b4593eb2b4e33",
            ),
        ],
        alone: &[],
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
        name: "rocalution",
        holds: "rocALUTION and its tests",
        size: 20_000_000,
        packages: &[
            (
                "librocalution1",
                "7.2.4-1~exp1",
                "c6877c65fbb56685ed53fe5bf51ef8079d9a364ba15125b5f0bebb9390ab053d",
            ),
            (
                "librocalution1-tests",
                "7.2.4-1~exp1",
                "ab7ee34e40418a84921061e772d658fa0589cc9f1ce5045016040250298f018c",
            ),
        ],
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
            ROCFFT,
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
            ROCRAND,
            (
                "librocrand1-tests",
                "7.2.4-1~exp1",
                "8907397a9c0cef8b7faba82d0dfa9541add5e63c7e56103bb3a94b09a93f6b82",
            ),
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocsolver",
        holds: "rocSOLVER and its tests",
        size: 800_000_000,
        packages: &[
            ROCSOLVER,
            (
                "librocsolver0-tests",
                "7.2.4-1~exp1+b1",
                "cf553f04b655503b3f027a7e70cb3e80233a4fb11237be61657b56ed50a5b220",
            ),
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocsparse",
        holds: "rocSPARSE and its tests",
        size: 800_000_000,
        packages: &[
            ROCSPARSE,
            (
                "librocsparse1-tests",
                "7.2.4-1~exp1",
                "279fa648f43d110d4a24d00a951fbb5aa63ad70b27e42d4e3355f685e6d694f4",
            ),
            (
                "librocsparse1-tests-data",
                "7.2.4-1~exp1",
                "f673ac0cf8511b8017c937a53d70859380ad5ed04406f2a03b2dc74c722135b8",
            ),
        ],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocthrust",
        holds: "the tests of rocThrust, a program for each algorithm",
        size: 1_800_000_000,
        packages: &[(
            "librocthrust-tests",
            "7.2.4-1~exp1",
            "f0df6f18bc4f67db6e9bc21a9e17f3c73412a6af2844e4f5b1599dfa5abdbdb3",
        )],
        alone: &[],
    },
    Addition {
        release: "7.2",
        name: "rocwmma",
        holds: "the tests of rocWMMA, a program for each kind of fragment",
        size: 900_000_000,
        packages: &[(
            "librocwmma-tests-validate",
            "7.2.4-1~exp1",
            "510b3066010ddb754a7a87f2f9898ab96de745d559298ecf9bde7a4fb1e931f9",
        )],
        alone: &[],
    },
];

/// Why an addition is unavailable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no addition of that name.
    #[error("\"{name}\" is not a known addition to ROCm {release}{}", known(release))]
    Unknown {
        /// The requested name.
        name: String,
        /// For which release.
        release: &'static str,
    },
    /// Its packages cannot be fetched.
    #[error("the packages of {name} for ROCm {release} cannot be fetched: {source}")]
    Fetch {
        /// Which one.
        name: &'static str,
        /// For which release.
        release: &'static str,
        /// Why.
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
pub fn of(release: &str) -> impl Iterator<Item = &'static Addition> {
    ADDITIONS.iter().filter(move |addition| addition.release == release)
}

/// The additions that a command line names, once each.
///
/// # Errors
/// The release has no addition of that name.
pub fn named(given: &[String], release: &'static str) -> Result<Vec<&'static Addition>, Error> {
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

    /// The folder of its tree beside a sysroot, fetched if missing.
    ///
    /// # Errors
    /// Its packages cannot be fetched.
    pub fn make(&self, sysroot: &Sysroot) -> Result<PathBuf, Error> {
        let folder = sysroot.folder().parent().unwrap_or(Path::new("."));
        let packages = self.packages(sysroot);
        let place = folder.join(&packages.place);
        let made = tree::make(&packages, folder, || packages.complete(folder));
        let made = made.map_err(|source| Error::Fetch { name: self.name, release: self.release, source })?;
        for line in made.unwrap_or_default() {
            eprintln!("note: not the tested package: {line}");
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
        for addition in ADDITIONS {
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
            error.starts_with("\"cublas\" is not a known addition")
                && error.contains("\n  rccl      the tests"),
            "{error}"
        );
        let error = named(&["rccl".to_owned()], "5.2").expect_err("none").to_string();
        assert!(error.ends_with("to ROCm 5.2, which has no additions"), "{error}");
    }
}
