//! Lavapipe, Mesa's Vulkan on the CPU, and the Vulkan loader, with all dependencies down to the C library and
//! its loader, for tests of memory shared by Vulkan and HIP.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use setup::debian;
use setup::debian::tested::Tested;

use super::sysroot::{Sysroot, forget_the_machine};
use super::tree::{self, LIBRARIES, LOADER, Packages};
use super::{RELEASES, Suite};

/// Makes tests fail if Vulkan is missing.
pub(crate) const REQUIRED_VARIABLE: &str = "FERROCM_TEST_VULKAN";

/// One version of Mesa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lavapipe {
    /// Its name here.
    pub(crate) mesa: &'static str,
    suite: Suite,
    /// Its packages, as they were tested.
    packages: &'static [Tested],
    /// Unpacked size in bytes, as measured and rounded up.
    size: u64,
}

/// The versions that tests run on: Mesa does not guarantee the layout of exported files.
pub(crate) static VERSIONS: [Lavapipe; 2] = [
    Lavapipe {
        mesa: "22.3",
        suite: Suite::Machine,
        packages: &[
            ("libvulkan1", "1.3.239.0-1", "622f28b807ba55a1f5ad1622ff83aa2c5b11fedbec074850e04c10a8f28b43d3"),
            (
                "mesa-vulkan-drivers",
                "22.3.6-1+deb12u2",
                "21f9ecf52886c88247d8ef92b635b8f670ab01fd7813c98f8200220aa138f4da",
            ),
        ],
        size: 300_000_000,
    },
    Lavapipe {
        mesa: "25.0",
        suite: Suite::Other("trixie"),
        packages: &[
            ("libvulkan1", "1.4.309.0-1", "f47da79cd140264fe21cceb08bc87a71bc7fec05819e4a421f3f518d21101a37"),
            (
                "mesa-vulkan-drivers",
                "25.0.7-2+deb13u1",
                "caf2f7d296b7522efe74e40a74bce762a3ce84c33b53b5e54e1248ac2e0a13a5",
            ),
        ],
        size: 280_000_000,
    },
];

/// Why it is unavailable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("lavapipe of Mesa {mesa} cannot be fetched: {source}")]
    Fetch {
        mesa: &'static str,
        #[source]
        source: debian::Error,
    },
    #[error("the packages of Mesa {mesa} lack {}", missing.display())]
    Incomplete { mesa: &'static str, missing: PathBuf },
    #[error("cannot write {}: {source}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// The driver's library, in the tree.
const DRIVER: &str = "libvulkan_lvp.so";

impl Lavapipe {
    fn packages(&self) -> Option<Packages> {
        let release = RELEASES.iter().find(|release| release.suite == self.suite)?;
        Some(Packages {
            release,
            title: format!("lavapipe of Mesa {}", self.mesa),
            place: format!("lavapipe-{}", self.mesa),
            size: self.size,
            packages: self.packages,
            alone: &[],
            had: Vec::new(),
        })
    }

    /// Its folder, fetched into `folder` if missing.
    pub(crate) fn fetch(&self, folder: &Path) -> Result<PathBuf, Error> {
        let incomplete = |missing: &Path| Error::Incomplete { mesa: self.mesa, missing: missing.to_owned() };
        let packages = self.packages().ok_or_else(|| incomplete(folder))?;
        let complete = || packages.complete(folder);
        let made = tree::make(&packages, folder, complete);
        let made = made.map_err(|source| Error::Fetch { mesa: self.mesa, source })?;
        for line in made.unwrap_or_default() {
            eprintln!("note: not the tested package: {line}");
        }
        let tree = folder.join(&packages.place);
        let needed = [DRIVER, "libvulkan.so.1", LOADER].map(|name| tree.join(LIBRARIES).join(name));
        match needed.iter().find(|file| !file.exists()) {
            Some(missing) => Err(incomplete(missing)),
            None => Ok(tree),
        }
    }

    /// Makes a nextest command run test programs on it: with its own loader, its libraries, and no other
    /// Vulkan driver.
    pub(crate) fn apply(&self, command: &mut Command, folder: &Path) -> Result<(), Error> {
        let libraries = self.fetch(folder)?.join(LIBRARIES);
        self.run_with(command, folder, &libraries.join(LOADER), &[&libraries])
    }

    /// The same in a ROCm sysroot, with the libraries of a folder before the sysroot's, and lavapipe's after
    /// them.
    pub(crate) fn apply_in(
        &self,
        command: &mut Command,
        folder: &Path,
        sysroot: &Sysroot,
        before: &Path,
    ) -> Result<(), Error> {
        let libraries = self.fetch(folder)?.join(LIBRARIES);
        // Kernels cached in the user's folder were not compiled by this release.
        command.env("AMD_COMGR_CACHE", "0");
        let rocm = sysroot.folder().join(LIBRARIES);
        self.run_with(command, folder, &sysroot.loader(), &[before, &rocm, &libraries])
    }

    fn run_with(
        &self,
        command: &mut Command,
        folder: &Path,
        loader: &Path,
        libraries: &[&Path],
    ) -> Result<(), Error> {
        let tree = self.fetch(folder)?;
        let name = if libraries.len() == 1 { "cargo.toml" } else { "cargo-rocm.toml" };
        let (driver, configuration) = (tree.join("lavapipe.json"), tree.join(name));
        for (path, text) in [(&driver, driver_file(&tree)), (&configuration, runner(loader, libraries))] {
            fs::write(path, text).map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        command.arg("--config").arg(configuration);
        forget_the_machine(command);
        // Loaders before 1.3.207 read the second.
        for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"] {
            command.env(variable, &driver);
        }
        command.env(REQUIRED_VARIABLE, "1").env("VK_LOADER_LAYERS_DISABLE", "~all~");
        Ok(())
    }
}

/// The driver's manifest for the Vulkan loader.
fn driver_file(tree: &Path) -> String {
    let library = tree.join(LIBRARIES).join(DRIVER);
    let library = serde_json::Value::from(library.to_string_lossy());
    format!(
        "{{\"file_format_version\": \"1.0.0\", \"ICD\": {{\"library_path\": {library}, \"api_version\": \"1.2.0\"}}}}\n"
    )
}

/// A Cargo configuration that runs programs with a loader, on the libraries of some folders.
fn runner(loader: &Path, libraries: &[&Path]) -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    let libraries: Vec<_> = libraries.iter().map(|folder| folder.to_string_lossy()).collect();
    format!(
        "# Made by `cargo xtask`.\n[target.x86_64-unknown-linux-gnu]\n\
         runner = [{}, \"--inhibit-cache\", \"--library-path\", {}]\n",
        text(&loader.to_string_lossy()),
        text(&libraries.join(":"))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_packages_and_its_own_place() {
        for version in &VERSIONS {
            let packages = version.packages().expect("a release of that suite");
            assert_eq!(packages.place, format!("lavapipe-{}", version.mesa));
            assert!(version.packages.is_sorted_by(|a, b| a.0 < b.0));
            assert!(version.packages.iter().all(|(_, _, hash)| hash.len() == 64));
        }
        assert_ne!(VERSIONS[0].mesa, VERSIONS[1].mesa);
    }

    #[test]
    fn the_driver_s_file_is_json_and_names_the_library_in_the_tree() {
        let file: serde_json::Value =
            serde_json::from_str(&driver_file(Path::new("/a \"b\""))).expect("JSON");
        assert_eq!(file["ICD"]["library_path"], format!("/a \"b\"/{LIBRARIES}/{DRIVER}"));
        let runner = runner(Path::new("/l"), &["/a b", "/c"].map(Path::new));
        let expected = "runner = [\"/l\", \"--inhibit-cache\", \"--library-path\", \"/a b:/c\"]\n";
        assert!(runner.ends_with(expected), "{runner}");
    }
}
