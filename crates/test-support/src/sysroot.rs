//! Code shared by the tests on AMD's own libraries.
//!
//! `cargo xtask test rocm <release>` unpacks a release's libraries into a sysroot, names it in two variables,
//! and runs the tests in files named `rocm*.rs` there. Without it, these tests skip themselves.

use std::path::{Path, PathBuf};

use sys_load::{Functions, Library};
use test_skip::{Lack, skip};

/// The variable that says which release's libraries a test runs on, such as `5.7`.
pub const RELEASE_VARIABLE: &str = "FERROCM_ROCM_RELEASE";
/// The variable that names the folder of that release's sysroot.
pub const FOLDER_VARIABLE: &str = "FERROCM_ROCM_SYSROOT";

/// The device file of AMD's driver.
const AMD_DRIVER: &str = "/dev/kfd";

/// The libraries that a test runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sysroot {
    /// The release, such as `5.7`.
    pub release: String,
    /// The folder with its unpacked packages.
    pub folder: PathBuf,
}

impl Sysroot {
    /// The sysroot that the environment names; otherwise prints the reason and returns `None`.
    pub fn find() -> Option<Sysroot> {
        Sysroot::of(|variable| std::env::var(variable).ok().filter(|value| !value.is_empty()))
    }

    fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Sysroot> {
        let (Some(release), Some(folder)) = (variable(RELEASE_VARIABLE), variable(FOLDER_VARIABLE)) else {
            skip(
                Lack::Suite,
                format_args!(
                    "{RELEASE_VARIABLE} or {FOLDER_VARIABLE} is not set (cargo xtask test rocm all)"
                ),
            );
            return None;
        };
        Some(Sysroot { release, folder: folder.into() })
    }

    /// The entry for this release in a list of releases. If there is none, prints the reason and returns
    /// `None`: not every release was packaged completely.
    pub fn pick<T: Copy>(&self, what: &str, releases: &[(&str, T)]) -> Option<T> {
        let found = releases.iter().find(|(release, _)| *release == self.release);
        if found.is_none() {
            skip(Lack::Device, format_args!("there is no {what} of ROCm {}", self.release));
        }
        found.map(|(_, value)| *value)
    }

    /// Whether a file is in the sysroot, with links resolved.
    pub fn holds(&self, file: &Path) -> bool {
        match (file.canonicalize(), self.folder.canonicalize()) {
            (Ok(file), Ok(folder)) => file.starts_with(folder),
            _ => false,
        }
    }

    /// Whether this machine has no AMD GPU, so that the libraries report none. Prints the reason if it has
    /// one.
    pub fn is_without_gpu(&self) -> bool {
        let without = !Path::new(AMD_DRIVER).exists();
        if !without {
            skip(Lack::Machine, format_args!("this machine has an AMD GPU ({AMD_DRIVER})"));
        }
        without
    }
}

/// Compares the exports of a version according to the bindings with those of its file, for every symbol of
/// the table, in both directions. Bridges, which add functions that the library lacks, are not applied.
///
/// # Errors
/// A text that lists every difference, or reports that the library was not found.
pub fn compare_symbols<T: Functions>(version: &str) -> Result<(), String> {
    let bit = T::VERSIONS.iter().position(|known| *known == version).ok_or_else(|| {
        format!("{version} is not a version that the bindings know: {}", T::VERSIONS.join(", "))
    })?;
    // SAFETY: a table's own search describes its library.
    let library = unsafe { Library::find(&T::SEARCH) }.map_err(|error| error.to_string())?;
    let mut differences = String::new();
    for symbol in T::symbols() {
        let exported = library.symbol(symbol.name).is_some();
        let expected = symbol.versions >> bit & 1 == 1;
        if exported != expected {
            let says = if expected { "is not exported" } else { "is exported" };
            differences.push_str(&format!("\n  {} {says}", symbol.name.to_string_lossy()));
        }
    }
    match differences.is_empty() {
        true => Ok(()),
        false => {
            Err(format!("the bindings differ from {version} ({}):{differences}", library.path().display()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sysroot(folder: &Path) -> Sysroot {
        Sysroot { release: "5.7".to_owned(), folder: folder.to_owned() }
    }

    #[test]
    fn both_variables_make_a_sysroot() {
        let found = Sysroot::of(|variable| Some(format!("value of {variable}"))).expect("both are set");
        assert_eq!(found.release, "value of FERROCM_ROCM_RELEASE");
        assert_eq!(found.folder, Path::new("value of FERROCM_ROCM_SYSROOT"));
        assert_eq!(Sysroot::of(|variable| (variable == RELEASE_VARIABLE).then(|| "5.7".to_owned())), None);
        assert_eq!(Sysroot::of(|_| None), None);
    }

    #[test]
    fn what_a_release_has_is_picked_by_its_name() {
        let sysroot = sysroot(Path::new("/nowhere"));
        assert_eq!(sysroot.pick("rocBLAS", &[("5.2", 1), ("5.7", 2)]), Some(2));
        assert_eq!(sysroot.pick("RCCL", &[("7.2", 3)]), None);
    }

    #[test]
    fn links_out_of_the_sysroot_do_not_count_as_in_it() {
        let folder = tempfile::tempdir().expect("temp folder");
        let inside = folder.path().join("lib.so");
        std::fs::write(&inside, "").expect("write");
        let sysroot = sysroot(folder.path());
        assert!(sysroot.holds(&inside));
        assert!(!sysroot.holds(Path::new("/proc/self/exe")));
        assert!(!sysroot.holds(&folder.path().join("absent.so")));
    }
}
