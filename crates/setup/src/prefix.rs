//! The private prefix: its manifest, the check that it compiles kernels, and the link to the current one.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use device_compiler::toolchain::Toolchain;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;
use crate::debian::index::upstream;
use crate::debian::io_error;
use crate::debian::package::{ManifestPackage, hex};
use crate::debian::store::{Staging, Store};
use crate::{debian, install, run};

const NEW_LINK: &str = ".current-";
const MANIFEST: &str = "manifest.json";

/// The contents of a prefix; stored in it as `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Folder name of the prefix.
    pub(crate) id: String,
    /// Whether it has a compiler, or only the pieces that the machine's own compiler lacked.
    pub(crate) has_compiler: bool,
    pub(crate) packages: Vec<ManifestPackage>,
}

impl Manifest {
    /// Names the prefix by its main versions and a hash of everything in it.
    pub(crate) fn new(has_compiler: bool, mut packages: Vec<ManifestPackage>) -> Self {
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hash = Sha256::new();
        hash.update([u8::from(has_compiler)]);
        for package in &packages {
            hash.update(format!("{}\n{}\n{}\n", package.name, package.version, package.sha256));
        }
        let version_of = |name: &str| {
            packages.iter().find(|p| p.name == name).map_or("none", |p| upstream(&p.version)).to_owned()
        };
        let llvm = if has_compiler { format!("llvm-{}-", version_of(install::CLANG)) } else { String::new() };
        let id =
            format!("{llvm}rocm-{}-{}", version_of(install::DEVICE_LIBS.name), &hex(&hash.finalize())[..8]);
        Self { id, has_compiler, packages }
    }

    /// The same for a prefix with NVIDIA's compiler of this version.
    pub(crate) fn of_nvcc(version: &str, packages: Vec<ManifestPackage>) -> Self {
        let manifest = Self::new(true, packages);
        let hash = manifest.id.rsplit('-').next().unwrap_or_default();
        Self { id: format!("nvcc-{version}-{hash}"), ..manifest }
    }

    /// Reads the manifest of a prefix.
    pub(crate) fn read(prefix: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(prefix.join(MANIFEST)).ok()?).ok()
    }

    fn write(&self, prefix: &Path) -> Result<(), debian::Error> {
        let path = prefix.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text + "\n")).map_err(io_error("write", &path))
    }
}

/// The folder with all prefixes, locked against other set-ups while this value lives.
#[derive(Debug)]
pub(crate) struct Toolchains {
    store: Store,
}

impl Toolchains {
    /// Takes the lock, waiting for another set-up if necessary, and removes leftovers of interrupted runs.
    pub(crate) fn lock(folder: &Path) -> Result<Self, debian::Error> {
        let store = Store::lock(folder)?;
        for entry in fs::read_dir(folder).map_err(io_error("read", folder))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(NEW_LINK) {
                fs::remove_file(entry.path()).map_err(io_error("remove", &entry.path()))?;
            }
        }
        Ok(Self { store })
    }

    /// A new staging folder, on the file system of the final place.
    pub(crate) fn stage(&self) -> Result<Staging, debian::Error> {
        self.store.stage()
    }

    /// Moves a finished prefix to its place and points `current` at it. Each step is one rename, so a reader
    /// sees either the old toolchain or the new one.
    pub(crate) fn publish(&self, staging: Staging, manifest: &Manifest) -> Result<PathBuf, debian::Error> {
        manifest.write(staging.tree())?;
        let place = self.store.publish(staging, &manifest.id)?;
        let current = self.store.folder().join("current");
        let link = self.store.folder().join(format!("{NEW_LINK}{}", std::process::id()));
        symlink(&manifest.id, &link).map_err(io_error("create", &link))?;
        fs::rename(&link, &current).map_err(|source| {
            let _ = fs::remove_file(&link);
            io_error("replace", &current)(source)
        })?;
        Ok(place)
    }

    /// Prefixes other than the current one, which are no longer used by new builds.
    pub(crate) fn superseded(&self) -> Vec<PathBuf> {
        let folder = self.store.folder();
        let current = fs::read_link(folder.join("current")).ok();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut old: Vec<PathBuf> = entries
            .filter(|entry| entry.path().join(MANIFEST).is_file() && entry.file_name() != "current")
            .filter(|entry| current.as_deref().is_none_or(|current| current.as_os_str() != entry.file_name()))
            .map(|entry| entry.path())
            .collect();
        old.sort();
        old
    }
}

/// Kernels in this file use every part of the toolchain.
const PROBE_SOURCE: &str = include_str!("probe.hip");
const PROBE_TARGETS: [&str; 3] = ["gfx1030", "gfx1100", "gfx90a"];

/// Compiles the probe for each target in a temporary folder.
pub(crate) fn probe(toolchain: &Toolchain) -> Result<(), Error> {
    let folder = tempfile::tempdir().map_err(io_error("create a folder in", &std::env::temp_dir()))?;
    let source = folder.path().join("probe.hip");
    fs::write(&source, PROBE_SOURCE).map_err(io_error("write", &source))?;
    for target in PROBE_TARGETS {
        let object = folder.path().join(target);
        let mut command = toolchain.command();
        command.args(["--offload-device-only", "--no-gpu-bundle-output", "-O3", "-mcode-object-version=5"]);
        command.arg(format!("--offload-arch={target}")).arg("-o").arg(&object).arg(&source);
        run::capture(&mut command).map_err(|source| Error::Probe { target, source })?;
        if !fs::read(&object).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")) {
            return Err(Error::ProbeOutput { target, clang: toolchain.clang.clone() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str) -> ManifestPackage {
        let text = |text: &str| text.to_owned();
        ManifestPackage {
            name: text(name),
            version: text(version),
            suite: text("s"),
            sha256: "0".repeat(64),
            uri: text("u"),
        }
    }

    fn manifest(version: &str) -> Manifest {
        Manifest::new(
            true,
            vec![package("rocm-device-libs-22", version), package("clang-22", "1:22.1.8-1~deb12u1")],
        )
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("folder").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn ids_name_versions_and_depend_on_everything_but_order() {
        let id = manifest("7.2.4+dfsg-1").id;
        assert!(id.starts_with("llvm-22.1.8-rocm-7.2.4-"), "{id}");
        let swapped = Manifest::new(
            true,
            vec![package("clang-22", "1:22.1.8-1~deb12u1"), package("rocm-device-libs-22", "7.2.4+dfsg-1")],
        );
        assert_eq!(id, swapped.id);
        assert_ne!(id, manifest("7.2.4+dfsg-2").id);
        assert!(Manifest::new(false, manifest("7.2.4").packages).id.starts_with("rocm-7.2.4-"));
    }

    #[test]
    fn publishing_switches_current_and_keeps_the_old_one() {
        let folder = tempfile::tempdir().expect("temp folder");
        let toolchains = Toolchains::lock(folder.path()).expect("lock");
        let mut places = Vec::new();
        for (version, text) in [("7.1", "old"), ("7.2", "new"), ("7.2", "again")] {
            let staging = toolchains.stage().expect("stage");
            fs::write(staging.tree().join("file"), text).expect("write");
            let manifest = manifest(version);
            places.push(toolchains.publish(staging, &manifest).expect("publish"));
            let current = folder.path().join("current");
            assert_eq!(fs::read_to_string(current.join("file")).expect("read"), text);
            assert_eq!(Manifest::read(&current), Some(manifest));
        }
        assert_eq!(toolchains.superseded(), [places[0].clone()]);
        assert_eq!(
            names(folder.path()).len(),
            4,
            "lock, current and two prefixes: {:?}",
            names(folder.path())
        );
    }

    #[test]
    fn a_link_that_a_killed_run_left_is_removed() {
        let folder = tempfile::tempdir().expect("temp folder");
        symlink("nowhere", folder.path().join(".current-1")).expect("link");
        let _toolchains = Toolchains::lock(folder.path()).expect("lock");
        assert_eq!(names(folder.path()), [".lock"]);
    }
}
