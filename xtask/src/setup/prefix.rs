//! The private prefix: unpacking packages beside the final place, checking that they compile kernels, and publishing
//! the result in one step. Whatever interrupts the work leaves at most a staging folder, which the next run removes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernel_build::toolchain::Toolchain;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Error;
use super::index::PackageFile;
use crate::run;

const STAGING: &str = ".staging-";
const NEW_LINK: &str = ".current-";
const APT_STATE_NOTE: &str = "apt-state";
/// How the names of temporary apt states start; nothing else is ever removed from the temporary folder.
pub(crate) const APT_STATE_PREFIX: &str = "ferrocm-apt-";
const MANIFEST: &str = "manifest.json";

/// A package that is part of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManifestPackage {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) suite: String,
    pub(crate) sha256: String,
    pub(crate) uri: String,
}

/// What a prefix consists of; stored in it as `manifest.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    /// Folder name of the prefix.
    pub(crate) id: String,
    /// Whether it has a compiler, or only the pieces that the machine's own compiler lacked.
    pub(crate) has_compiler: bool,
    pub(crate) packages: Vec<ManifestPackage>,
}

impl Manifest {
    /// Names the set by its main versions and a hash over all of it.
    pub(crate) fn new(has_compiler: bool, mut packages: Vec<ManifestPackage>) -> Self {
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hash = Sha256::new();
        hash.update([u8::from(has_compiler)]);
        for package in &packages {
            hash.update(format!("{}\n{}\n{}\n", package.name, package.version, package.sha256));
        }
        let version_of = |name: &str| {
            packages
                .iter()
                .find(|p| p.name == name)
                .map_or("none", |p| super::index::upstream(&p.version))
                .to_owned()
        };
        let llvm = if has_compiler { format!("llvm-{}-", version_of(super::CLANG)) } else { String::new() };
        let id =
            format!("{llvm}rocm-{}-{}", version_of(super::DEVICE_LIBS.name), &hex(&hash.finalize())[..8]);
        Self { id, has_compiler, packages }
    }

    /// Reads the manifest of a prefix.
    pub(crate) fn read(prefix: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(prefix.join(MANIFEST)).ok()?).ok()
    }

    fn write(&self, prefix: &Path) -> Result<(), Error> {
        let path = prefix.join(MANIFEST);
        let text = serde_json::to_string_pretty(self).map_err(io::Error::other);
        text.and_then(|text| fs::write(&path, text + "\n")).map_err(|source| Error::Io {
            action: "write",
            path,
            source,
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of a file.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

/// The folder that holds all prefixes, locked against other set-ups for as long as this value lives.
#[derive(Debug)]
pub(crate) struct Toolchains {
    folder: PathBuf,
    _lock: File,
}

impl Toolchains {
    /// Takes the lock, waiting for another set-up if there is one, and removes what interrupted runs left.
    pub(crate) fn lock(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        let path = folder.join(".lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(io_error("open", &path))?;
        if lock.try_lock().is_err() {
            eprintln!("Another set-up is running; waiting for it to end.");
            lock.lock().map_err(io_error("lock", &path))?;
        }
        let toolchains = Self { folder: folder.to_owned(), _lock: lock };
        toolchains.remove_leftovers()?;
        Ok(toolchains)
    }

    fn remove_leftovers(&self) -> Result<(), Error> {
        for entry in fs::read_dir(&self.folder).map_err(io_error("read", &self.folder))?.flatten() {
            let name = entry.file_name();
            let path = entry.path();
            if name.to_string_lossy().starts_with(STAGING) {
                remove_apt_state(&path);
                fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
            } else if name.to_string_lossy().starts_with(NEW_LINK) {
                fs::remove_file(&path).map_err(io_error("remove", &path))?;
            }
        }
        Ok(())
    }

    /// A new staging folder, on the file system of the final place.
    pub(crate) fn stage(&self) -> Result<Staging, Error> {
        let folder = tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(&self.folder)
            .map_err(io_error("create a folder in", &self.folder))?;
        let prefix = folder.path().join("prefix");
        fs::create_dir(&prefix).map_err(io_error("create", &prefix))?;
        Ok(Staging { folder, prefix })
    }

    /// Moves a finished prefix to its place and points `current` at it. Each step is one rename, so that a reader sees
    /// the old toolchain or the new one.
    pub(crate) fn publish(&self, staging: Staging, manifest: &Manifest) -> Result<PathBuf, Error> {
        manifest.write(&staging.prefix)?;
        let place = self.folder.join(&manifest.id);
        if place.symlink_metadata().is_ok() {
            let old = staging.folder.path().join("replaced");
            fs::rename(&place, &old).map_err(io_error("move", &place))?;
        }
        fs::rename(&staging.prefix, &place).map_err(io_error("move the new toolchain to", &place))?;
        let current = self.folder.join("current");
        let link = self.folder.join(format!("{NEW_LINK}{}", std::process::id()));
        symlink(&manifest.id, &link).map_err(io_error("create", &link))?;
        fs::rename(&link, &current).map_err(|source| {
            let _ = fs::remove_file(&link);
            Error::Io { action: "replace", path: current.clone(), source }
        })?;
        Ok(place)
    }

    /// Prefixes other than the current one, which are no longer used by new builds.
    pub(crate) fn superseded(&self) -> Vec<PathBuf> {
        let current = fs::read_link(self.folder.join("current")).ok();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut old: Vec<PathBuf> = entries
            .filter(|entry| entry.path().join(MANIFEST).is_file() && entry.file_name() != "current")
            .filter(|entry| current.as_deref().is_none_or(|current| current.as_os_str() != entry.file_name()))
            .map(|entry| entry.path())
            .collect();
        old.sort();
        old
    }
}

/// A prefix in the making; dropped, it disappears.
#[derive(Debug)]
pub(crate) struct Staging {
    folder: tempfile::TempDir,
    prefix: PathBuf,
}

impl Staging {
    /// The folder that becomes the prefix.
    pub(crate) fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Notes where the temporary apt state is, for the clean-up after an interruption.
    pub(crate) fn note_apt_state(&self, state: &Path) -> Result<(), Error> {
        let path = self.folder.path().join(APT_STATE_NOTE);
        fs::write(&path, state.as_os_str().as_encoded_bytes()).map_err(io_error("write", &path))
    }

    /// Checks a downloaded file against the index and unpacks it.
    pub(crate) fn unpack(&self, package: &PackageFile, downloads: &Path) -> Result<(), Error> {
        let path = downloads.join(&package.file);
        let found = sha256_of(&path).map_err(io_error("read", &path))?;
        if found != package.sha256 {
            return Err(Error::Hash { file: package.file.clone(), expected: package.sha256.clone(), found });
        }
        // Older packages keep libraries in /lib. With the folders merged, one library path serves all.
        for (link, target) in
            [("lib", "usr/lib"), ("lib64", "usr/lib64"), ("bin", "usr/bin"), ("sbin", "usr/sbin")]
        {
            let (link, folder) = (self.prefix.join(link), self.prefix.join(target));
            if link.symlink_metadata().is_err() {
                fs::create_dir_all(&folder).map_err(io_error("create", &folder))?;
                symlink(target, &link).map_err(io_error("create", &link))?;
            }
        }
        let unpack_error = |source| Error::Unpack { file: package.file.clone(), source };
        let start_error =
            |program: &str, source| unpack_error(run::Error::Start { program: program.to_owned(), source });
        let mut reader = Command::new("dpkg-deb")
            .arg("--fsys-tarfile")
            .arg(&path)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| start_error("dpkg-deb", source))?;
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--keep-directory-symlink", "--no-same-owner", "--directory"])
            .arg(&self.prefix);
        tar.stdin(reader.stdout.take().map_or_else(Stdio::null, Stdio::from));
        let unpacked = tar.output();
        let read = reader.wait_with_output().map_err(|source| start_error("dpkg-deb", source))?;
        let unpacked = unpacked.map_err(|source| start_error("tar", source))?;
        // A broken package makes both fail; the reader's message is the one that says why.
        let failed = match (read.status.success(), unpacked.status.success()) {
            (true, true) => return Ok(()),
            (false, _) => ("dpkg-deb --fsys-tarfile".to_owned(), read),
            (true, false) => (run::describe(&tar), unpacked),
        };
        let (command, output) = failed;
        let source = run::Error::Failed {
            command,
            status: output.status,
            output: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        match source.is_disk_full() {
            true => Err(Error::DiskFull {
                folder: self.folder.path().parent().unwrap_or(&self.prefix).to_owned(),
            }),
            false => Err(unpack_error(source)),
        }
    }
}

fn remove_apt_state(staging: &Path) {
    use std::os::unix::ffi::OsStringExt;
    let Ok(note) = fs::read(staging.join(APT_STATE_NOTE)) else { return };
    let state = PathBuf::from(std::ffi::OsString::from_vec(note));
    let ours = state.file_name().is_some_and(|name| name.to_string_lossy().starts_with(APT_STATE_PREFIX));
    let owner =
        |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir).map(|meta| meta.uid());
    // The temporary folder is shared: a stranger's folder of that name is not ours to remove.
    if ours && owner(&state).is_some() && owner(&state) == owner(staging) {
        let _ = fs::remove_dir_all(&state);
    }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

/// Kernels in this file use what goes missing when a piece of the toolchain does.
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
            fs::write(staging.prefix().join("file"), text).expect("write");
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
    fn an_abandoned_staging_folder_changes_nothing() {
        let folder = tempfile::tempdir().expect("temp folder");
        let toolchains = Toolchains::lock(folder.path()).expect("lock");
        drop(toolchains.stage().expect("stage"));
        assert_eq!(names(folder.path()), [".lock"]);
    }

    #[test]
    fn leftovers_of_a_killed_run_are_removed() {
        let folder = tempfile::tempdir().expect("temp folder");
        let state = tempfile::Builder::new().prefix(APT_STATE_PREFIX).tempdir().expect("state").keep();
        let foreign = tempfile::tempdir().expect("another folder");
        for (staging, note) in [(".staging-a", state.as_path()), (".staging-b", foreign.path())] {
            let staging = folder.path().join(staging);
            fs::create_dir_all(staging.join("prefix/usr")).expect("folders");
            fs::write(staging.join(APT_STATE_NOTE), note.as_os_str().as_encoded_bytes()).expect("note");
        }
        symlink("nowhere", folder.path().join(".current-1")).expect("link");
        let _toolchains = Toolchains::lock(folder.path()).expect("lock");
        assert_eq!(names(folder.path()), [".lock"]);
        assert!(!state.exists() && foreign.path().exists());
    }

    #[test]
    fn a_second_set_up_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("temp folder");
        let first = Toolchains::lock(folder.path()).expect("lock");
        let path = folder.path().to_owned();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || sender.send(Toolchains::lock(&path).is_ok()));
        assert!(receiver.recv_timeout(std::time::Duration::from_millis(100)).is_err());
        drop(first);
        assert_eq!(receiver.recv_timeout(std::time::Duration::from_secs(10)), Ok(true));
        second.join().expect("no panic").expect("received");
    }

    #[test]
    fn a_file_that_is_not_what_the_index_says_is_refused() {
        let folder = tempfile::tempdir().expect("temp folder");
        let toolchains = Toolchains::lock(folder.path()).expect("lock");
        let staging = toolchains.stage().expect("stage");
        fs::write(folder.path().join("a_1_all.deb"), "not a package").expect("write");
        let mut package = PackageFile {
            name: "a".to_owned(),
            version: "1".to_owned(),
            file: "a_1_all.deb".to_owned(),
            uri: String::new(),
            size: 13,
            sha256: "0".repeat(64),
        };
        let error = staging.unpack(&package, folder.path()).expect_err("hash differs");
        assert!(matches!(&error, Error::Hash { file, .. } if file == "a_1_all.deb"), "{error}");
        package.sha256 = sha256_of(&folder.path().join("a_1_all.deb")).expect("hash");
        if run::find_program("dpkg-deb").is_some() {
            let error = staging.unpack(&package, folder.path()).expect_err("not a package");
            assert!(error.to_string().contains("a_1_all.deb"), "{error}");
        }
    }
}
