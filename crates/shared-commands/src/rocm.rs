//! AMD's own ROCm libraries on a machine that has none, over virtual GPUs: which releases there are and where
//! Debian has them, their trees of packages, and the programs that run in them.

pub mod additions;
pub mod program;
pub mod run;
pub mod sysroot;
pub mod tree;

use setup::debian::apt;
use setup::debian::sources::Mirrors;
use setup::debian::tested::Tested;

/// Where a release's packages are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// In the machine's own release, Debian 12.
    Machine,
    /// In another suite of the same mirror.
    Other(&'static str),
}

/// One ROCm release: a folder of headers, a sysroot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// What it is called here, in folders and on command lines. Its libraries have versions of their own.
    pub name: &'static str,
    /// The suite that it is taken from.
    pub suite: Suite,
    /// The packages that hold its headers, as the checked-in bindings were made from them.
    pub headers: &'static [Tested],
}

/// All of them, oldest first.
pub static RELEASES: [Release; 4] = [
    Release {
        name: "5.2",
        suite: Suite::Machine,
        headers: &[
            (
                "libamdhip64-dev",
                "5.2.3-8",
                "1f87b72e5aa86025c6cb96312c75ee7f549c42475f4bc51049ab7b67cc4e762e",
            ),
            (
                "libhsa-runtime-dev",
                "5.2.3-3",
                "7b5d021c2718818d597cd9439581757931ecdc8e346c1f5e7aab664793b53fb0",
            ),
        ],
    },
    Release {
        name: "5.7",
        suite: Suite::Other("trixie"),
        headers: &[
            (
                "libamdhip64-dev",
                "5.7.1-6+deb13u1",
                "471242c9d89ce6aca57b2dc75eabbeb872d787f70d3b92144c58bb444e6256a1",
            ),
            (
                "libhsa-runtime-dev",
                "6.1.2-3",
                "210550164784b6f12067b6cfd8a9386f6855d12a5fdd768b14839c85c35e48c0",
            ),
            ("librccl-dev", "5.4.3-3+b1", "87e977a72579fcc891c37be5169f051699b9ab3822bef1331f6d33a0e66fd571"),
            (
                "librocblas-dev",
                "5.5.1+dfsg-7",
                "6807acd8e4bcc065559d60e78fb7cd62cd7379da68a5fdcd934410f7f08f5df2",
            ),
        ],
    },
    Release {
        name: "6.4",
        suite: Suite::Other("sid"),
        headers: &[
            (
                "libamdhip64-dev",
                "6.4.3-5",
                "f2a3a542d41883f87a45e2d0554c1c84ccf350c836b9e8b35473dadbc34ced5e",
            ),
            (
                "libhsa-runtime-dev",
                "6.4.3+dfsg-5",
                "ee294edb1c087a4df853da341112752514d5f4f48510ba69b04698b904e35500",
            ),
            ("librocblas-dev", "6.4.4-4", "b86fdbe87a20759346214cbe961895bd25dea58e2303739de65b71c34eb5b05b"),
        ],
    },
    Release {
        name: "7.2",
        suite: Suite::Other("experimental"),
        headers: &[
            // Its tables map each HIP function to its CUDA name.
            (
                "hipify-perl",
                "7.2.4+dfsg-1~exp1",
                "58bebb2776fb4b83953209226225be1af33f6e554ac9ae4ce8b4f836273beb08",
            ),
            (
                "libamdhip64-dev",
                "7.2.4-1~exp2",
                "28ae316c5be2d33b53fae8f2151e76a758f84aa3493abafeaef935e49cc5ba07",
            ),
            (
                "libhsa-runtime-dev",
                "7.2.4+dfsg-1~exp1",
                "18b204f235cfb402833ecfc4c8a3d80842c038df3925e4e0148173a70e3d4c32",
            ),
            (
                "librccl-dev",
                "7.2.4-1~exp3",
                "c224353521f931fc9e9eb0800e401d5dde27d428a144f86d3766e52b9f40fdd5",
            ),
            (
                "librocblas-dev",
                "7.2.4-1~exp1",
                "615ad67764a3dcfef8db7ac5b24458222bc0b1bb69b2fbf5a50c04bc74fc75b0",
            ),
        ],
    },
];

impl Release {
    /// The suites, as this machine's sources name them.
    pub fn suites<'a>(&self, mirrors: &'a Mirrors) -> Vec<&'a str> {
        match self.suite {
            Suite::Machine => {
                let suites = mirrors.main.suites.iter().chain(&mirrors.security.suites);
                suites.map(String::as_str).collect()
            }
            Suite::Other(suite) => vec![suite],
        }
    }

    /// The apt sources of its suites.
    pub fn source(&self, mirrors: &Mirrors) -> String {
        match self.suite {
            Suite::Machine => apt::own_stanzas(mirrors),
            // Mirrors and snapshots keep these suites past their Valid-Until; their signatures still have to
            // verify.
            Suite::Other(suite) => apt::stanza(&mirrors.main, &[suite], Some(false)),
        }
    }
}

/// Shared by the tests of sysroots.
#[cfg(test)]
mod fixtures {
    use setup::debian::package::ManifestPackage;

    use super::*;

    pub(super) fn release(name: &str) -> &'static Release {
        RELEASES.iter().find(|release| release.name == name).expect("a release")
    }

    pub(super) fn manifest_package(name: &str, version: &str, sha256: &str) -> ManifestPackage {
        ManifestPackage {
            name: name.to_owned(),
            version: version.to_owned(),
            suite: "s".to_owned(),
            sha256: sha256.to_owned(),
            uri: "u".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use setup::debian::sources::{debian_mirrors, parse_list};

    use super::*;

    #[test]
    fn releases_are_sorted_and_their_hashes_whole() {
        assert!(RELEASES.is_sorted_by(|a, b| a.name < b.name));
        for release in &RELEASES {
            assert!(release.headers.is_sorted_by(|a, b| a.0 < b.0), "{}", release.name);
            assert!(release.headers.iter().all(|(_, _, hash)| hash.len() == 64), "{}", release.name);
        }
    }

    #[test]
    fn the_machine_names_its_own_suite_and_keeps_its_own_dates() {
        let sources = "deb [check-valid-until=yes] http://a.example/debian oldstable main";
        let mirrors = debian_mirrors(&parse_list(sources)).expect("main");
        let [own, .., newest] = RELEASES.map(|release| release.source(&mirrors));
        assert!(own.contains("Suites: oldstable\n") && own.contains("Check-Valid-Until: yes\n"), "{own}");
        assert!(newest.contains("Suites: experimental\n"), "{newest}");
        assert!(newest.contains("Check-Valid-Until: no\n"), "{newest}");
    }
}
