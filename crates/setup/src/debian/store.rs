//! A folder of unpacked package sets. Each is created beside its final place and published by one rename. An
//! interruption leaves at most a staging folder, which the next run removes.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::apt::STATE_PREFIX;
use super::{Error, io_error};

const STAGING: &str = ".staging-";
const APT_STATE_NOTE: &str = "apt-state";

/// A folder of published trees, locked against other runs while this value lives.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    _lock: File,
}

impl Store {
    /// Takes the lock, waiting for another run if necessary, and removes leftovers of interrupted runs.
    pub fn lock(folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(io_error("create", folder))?;
        let path = folder.join(".lock");
        let lock = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(io_error("open", &path))?;
        if lock.try_lock().is_err() {
            eprintln!("Another run is working in {}; waiting for it to end.", folder.display());
            lock.lock().map_err(io_error("lock", &path))?;
        }
        let store = Self { folder: folder.to_owned(), _lock: lock };
        store.remove_leftovers()?;
        Ok(store)
    }

    /// The folder that holds the trees.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn remove_leftovers(&self) -> Result<(), Error> {
        for entry in fs::read_dir(&self.folder).map_err(io_error("read", &self.folder))?.flatten() {
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with(STAGING) {
                remove_apt_state(&path);
                fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
            }
        }
        Ok(())
    }

    /// A new staging folder, on the file system of the final place.
    pub fn stage(&self) -> Result<Staging, Error> {
        let folder = tempfile::Builder::new()
            .prefix(STAGING)
            .tempdir_in(&self.folder)
            .map_err(io_error("create a folder in", &self.folder))?;
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).map_err(io_error("create", &tree))?;
        Ok(Staging { folder, tree })
    }

    /// Moves a finished tree to its place, replacing an existing one. A reader sees the old tree, none
    /// between two renames, or the new one, but never a part.
    pub fn publish(&self, staging: Staging, name: &str) -> Result<PathBuf, Error> {
        let place = self.folder.join(name);
        if place.symlink_metadata().is_ok() {
            let old = staging.folder.path().join("replaced");
            fs::rename(&place, &old).map_err(io_error("move", &place))?;
        }
        fs::rename(&staging.tree, &place).map_err(io_error("move the new files to", &place))?;
        Ok(place)
    }
}

/// An unfinished tree, removed when dropped.
#[derive(Debug)]
pub struct Staging {
    folder: tempfile::TempDir,
    tree: PathBuf,
}

impl Staging {
    /// The folder to publish.
    pub fn tree(&self) -> &Path {
        &self.tree
    }

    /// Records the place of the temporary apt state, for the clean-up after an interruption.
    pub fn note_apt_state(&self, state: &Path) -> Result<(), Error> {
        let path = self.folder.path().join(APT_STATE_NOTE);
        fs::write(&path, state.as_os_str().as_encoded_bytes()).map_err(io_error("write", &path))
    }
}

fn remove_apt_state(staging: &Path) {
    use std::os::unix::ffi::OsStringExt;
    let Ok(note) = fs::read(staging.join(APT_STATE_NOTE)) else { return };
    let state = PathBuf::from(std::ffi::OsString::from_vec(note));
    let ours = state.file_name().is_some_and(|name| name.to_string_lossy().starts_with(STATE_PREFIX));
    let owner =
        |path: &Path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir).map(|meta| meta.uid());
    // The temporary folder is shared: another user's folder of that name must not be removed.
    if ours && owner(&state).is_some() && owner(&state) == owner(staging) {
        let _ = fs::remove_dir_all(&state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("folder").flatten();
        let mut names: Vec<String> = entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn publishing_replaces_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().expect("temp folder");
        let store = Store::lock(folder.path()).expect("lock");
        for text in ["old", "new"] {
            let staging = store.stage().expect("stage");
            fs::write(staging.tree().join("file"), text).expect("write");
            let place = store.publish(staging, "7.2").expect("publish");
            assert_eq!(place, folder.path().join("7.2"));
            assert_eq!(fs::read_to_string(place.join("file")).expect("read"), text);
        }
        assert_eq!(names(folder.path()), [".lock", "7.2"]);
    }

    #[test]
    fn an_abandoned_staging_folder_changes_nothing() {
        let folder = tempfile::tempdir().expect("temp folder");
        let store = Store::lock(folder.path()).expect("lock");
        drop(store.stage().expect("stage"));
        assert_eq!(names(folder.path()), [".lock"]);
    }

    #[test]
    fn leftovers_of_a_killed_run_are_removed() {
        let folder = tempfile::tempdir().expect("temp folder");
        let state = tempfile::Builder::new().prefix(STATE_PREFIX).tempdir().expect("state").keep();
        let foreign = tempfile::tempdir().expect("another folder");
        for (staging, note) in [(".staging-a", state.as_path()), (".staging-b", foreign.path())] {
            let staging = folder.path().join(staging);
            fs::create_dir_all(staging.join("tree/usr")).expect("folders");
            fs::write(staging.join(APT_STATE_NOTE), note.as_os_str().as_encoded_bytes()).expect("note");
        }
        let _store = Store::lock(folder.path()).expect("lock");
        assert_eq!(names(folder.path()), [".lock"]);
        assert!(!state.exists() && foreign.path().exists());
    }

    #[test]
    fn a_second_run_waits_for_the_first() {
        let folder = tempfile::tempdir().expect("temp folder");
        let first = Store::lock(folder.path()).expect("lock");
        let path = folder.path().to_owned();
        let (sender, receiver) = std::sync::mpsc::channel();
        let second = std::thread::spawn(move || sender.send(Store::lock(&path).is_ok()));
        assert!(receiver.recv_timeout(std::time::Duration::from_millis(100)).is_err());
        drop(first);
        assert_eq!(receiver.recv_timeout(std::time::Duration::from_secs(10)), Ok(true));
        second.join().expect("no panic").expect("received");
    }
}
