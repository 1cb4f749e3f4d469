//! Compiled code on disk, found again by what it was made from.
//!
//! ```text
//! <root>/manifests/<ab>/<key>    which headers a source read, and the code object that came out
//! <root>/objects/<ab>/<hash>     code objects, named by the hash of their own bytes
//! <root>/cuda/<hash>/            CUDA's headers for AMD targets, by their content
//! <root>/turns/<key>             locked by who compiles what a key stands for
//! <root>/tmp/                    files that are being written
//! ```
//! A *key* is the hash of everything that is known before compiling: source, options, target, compiler. A manifest has
//! one entry for each state of the headers in which that key was compiled. Files appear by renaming complete ones, and
//! what is read is checked against its hash, so neither an interrupted build nor a damaged disk can give a wrong result:
//! the worst that happens is that something is compiled again.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::{Diagnostic, Error};

/// States of the headers that a manifest remembers.
const ENTRIES: usize = 8;
/// Age at which a file in `tmp` has been left behind by an interrupted build.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// How long to wait for another process or thread that compiles the same.
const TURN: Duration = Duration::from_secs(600);
/// The pauses between two looks whether it is done.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// A folder of compiled code, which any number of processes may use at once.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
}

/// A file that a compilation read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// blake3 hash of its content, hexadecimal.
    pub hash: String,
}

/// What a compilation gave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Files that it depends on and that the key does not tell.
    pub inputs: Vec<Input>,
    /// blake3 hash of the code, hexadecimal.
    pub object: String,
    /// What the compiler said.
    pub diagnostics: Vec<Diagnostic>,
    /// Names in the code by the names that the program asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, String)>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    /// Newest first.
    entries: Vec<Entry>,
}

impl Cache {
    /// Opens the cache, makes its folders and checks that they can be written.
    ///
    /// # Errors
    /// [`Error::Io`] names the folder.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(root).map_err(|e| Error::io("use as cache", root, e))?;
        let cache = Self { root };
        for name in ["manifests", "objects", "tmp", "turns"] {
            let folder = cache.root.join(name);
            fs::create_dir_all(&folder).map_err(|e| Error::io("make the cache folder", &folder, e))?;
        }
        tempfile::tempfile_in(cache.tmp())
            .map_err(|e| Error::io("write to the cache folder", cache.tmp(), e))?;
        cache.remove_stale();
        Ok(cache)
    }

    /// The folder of [CUDA's headers](crate::cuda), complete.
    pub(crate) fn cuda_headers(&self) -> Result<PathBuf, Error> {
        crate::cuda::write_headers(&self.root.join("cuda"))
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A folder of its own for one compilation; removed when dropped.
    pub(crate) fn work_folder(&self) -> Result<tempfile::TempDir, Error> {
        let tmp = self.tmp();
        tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(&tmp)
            .map_err(|e| Error::io("make a folder in", tmp, e))
    }

    /// The entry of a key whose files are all as they were, with its code object.
    ///
    /// `hash` gives a file's hash now, if it can be read. The key is hexadecimal.
    pub fn lookup(&self, key: &str, hash: impl Fn(&Path) -> Option<String>) -> Option<(Entry, Vec<u8>)> {
        let manifest = self.manifest(key)?;
        manifest.entries.into_iter().find_map(|entry| {
            let same = entry.inputs.iter().all(|input| hash(&input.path).as_ref() == Some(&input.hash));
            let bytes = same.then(|| self.read_verified(&entry.object))??;
            Some((entry, bytes))
        })
    }

    /// What [`lookup`](Self::lookup) finds, or else the [`turn`](Self::turn) to make it.
    ///
    /// # Errors
    /// The turn.
    pub fn lookup_or_turn(
        &self,
        key: &str,
        hash: impl Fn(&Path) -> Option<String>,
    ) -> Result<(Entry, Vec<u8>), Turn> {
        if let Some(found) = self.lookup(key, &hash) {
            return Ok(found);
        }
        let turn = self.turn(key);
        self.lookup(key, hash).ok_or(turn)
    }

    /// Waits while another process or thread compiles what the key stands for. Who has its turn looks it up again.
    ///
    /// Without a turn two would compile the same, no more: so who cannot have one, because the other takes longer than ten minutes or the
    /// file system has no locks, goes on without. The turn of a process that ends is free.
    #[must_use]
    pub fn turn(&self, key: &str) -> Turn {
        self.turn_within(key, TURN)
    }

    fn turn_within(&self, key: &str, longest: Duration) -> Turn {
        let path = self.root.join("turns").join(key);
        let mut turn = Turn { file: None };
        let Ok(file) = File::options().create(true).append(true).open(&path) else { return turn };
        let (begin, mut pause) = (Instant::now(), PAUSES[0]);
        loop {
            match file.try_lock() {
                Ok(()) => turn.file = Some((file, path)),
                Err(TryLockError::WouldBlock) if begin.elapsed() < longest => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(PAUSES[1]);
                    continue;
                }
                Err(_) => {}
            }
            return turn;
        }
    }

    /// Makes a file of the cache appear under another path, where it stays whatever happens to the cache.
    pub(crate) fn link(&self, hash: &str, path: &Path) -> std::io::Result<()> {
        let file = self.place("objects", hash);
        fs::hard_link(&file, path).or_else(|_| fs::copy(&file, path).map(drop))
    }

    /// Stores what a compilation gave under its key.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn store(&self, key: &str, entry: Entry, bytes: &[u8]) -> Result<(), Error> {
        debug_assert_eq!(blake3::hash(bytes).to_hex().as_str(), entry.object);
        // A damaged file must be replaced, so being there is not enough.
        if self.read_verified(&entry.object).is_none() {
            self.publish(&self.place("objects", &entry.object), bytes)?;
        }
        // Two builders may do this at once; the loser's entry is then missing, which costs one compilation.
        let mut manifest = self.manifest(key).unwrap_or_default();
        manifest.entries.retain(|old| old.inputs != entry.inputs);
        manifest.entries.insert(0, entry);
        manifest.entries.truncate(ENTRIES);
        let path = self.place("manifests", key);
        let body = serde_json::to_vec(&manifest).map_err(|e| Error::io("write", &path, e.into()))?;
        let mut file = blake3::hash(&body).to_hex().as_bytes().to_vec();
        file.push(b'\n');
        file.extend_from_slice(&body);
        self.publish(&path, &file)
    }

    /// Removes everything that is older than what others may be about to read, namely all manifests and code.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn clear(&self) -> Result<(), Error> {
        self.trim(0)
    }

    /// Removes what was used longest ago until the code takes at most `bytes` bytes. Processes that use the cache meanwhile
    /// compile again what they miss.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn trim(&self, bytes: u64) -> Result<(), Error> {
        let mut total = 0;
        let mut files = Vec::new();
        for kind in ["objects", "manifests"] {
            for folder in children(&self.root.join(kind)) {
                for path in children(&folder) {
                    // What is gone by now was removed by another process.
                    let Ok(meta) = fs::metadata(&path) else { continue };
                    total += meta.len();
                    files.push((meta.modified().unwrap_or(SystemTime::UNIX_EPOCH), meta.len(), path));
                }
            }
        }
        files.sort();
        for (_, length, path) in files {
            if total <= bytes {
                break;
            }
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("remove", path, error));
                }
                _ => total -= length,
            }
        }
        Ok(())
    }

    fn place(&self, kind: &str, hash: &str) -> PathBuf {
        self.root.join(kind).join(&hash[..2]).join(hash)
    }

    fn manifest(&self, key: &str) -> Option<Manifest> {
        let path = self.place("manifests", key);
        let bytes = fs::read(&path).ok()?;
        touch(&path);
        let split = bytes.iter().position(|&b| b == b'\n')?;
        let (hash, body) = (&bytes[..split], &bytes[split + 1..]);
        (blake3::hash(body).to_hex().as_bytes() == hash).then(|| serde_json::from_slice(body).ok())?
    }

    fn read_verified(&self, hash: &str) -> Option<Vec<u8>> {
        let path = self.place("objects", hash);
        let bytes = fs::read(&path).ok()?;
        if blake3::hash(&bytes).to_hex().as_str() != hash {
            return None;
        }
        touch(&path);
        Some(bytes)
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| Error::io("make the cache folder", folder, e))?;
        }
        let tmp = self.tmp();
        let mut file =
            tempfile::NamedTempFile::new_in(&tmp).map_err(|e| Error::io("make a file in", &tmp, e))?;
        fill(file.as_file_mut(), path, bytes)?;
        file.persist(path).map_err(|e| Error::io("write", path, e.error))?;
        Ok(())
    }

    /// Removes what interrupted builds left behind. Trouble here is no reason to fail.
    fn remove_stale(&self) {
        let Ok(entries) = fs::read_dir(self.tmp()) else { return };
        for entry in entries.flatten() {
            let age = entry
                .metadata()
                .and_then(|meta| meta.modified())
                .ok()
                .and_then(|modified| SystemTime::now().duration_since(modified).ok());
            if age.is_some_and(|age| age > STALE) {
                let path = entry.path();
                let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            }
        }
    }
}

/// What [`Cache::turn`] gives; the next one's turn comes when it is dropped.
#[derive(Debug)]
pub struct Turn {
    file: Option<(File, PathBuf)>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((file, path)) = self.file.take() {
            // Who waits has the file open and gets its turn all the same; who comes later makes a new one.
            let _ = fs::remove_file(path);
            drop(file);
        }
    }
}

/// Notes that a file is in use, for [`Cache::trim`]. In a cache that cannot be written, that changes nothing.
fn touch(path: &Path) {
    if let Ok(file) = File::options().append(true).open(path) {
        let _ = file.set_modified(SystemTime::now());
    }
}

fn children(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map(|dir| dir.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

/// Writes all bytes and makes sure that they are on the disk. `path` is the name for the error.
fn fill(file: &mut File, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|e| Error::io("write", path, e))
}

/// Writes a file so that it is there completely or not at all, and not touched if it already has these bytes.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file =
        tempfile::NamedTempFile::new_in(folder).map_err(|e| Error::io("make a file in", folder, e))?;
    fill(file.as_file_mut(), path, bytes)?;
    file.persist(path).map_err(|e| Error::io("write", path, e.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(bytes: &[u8], inputs: &[(&str, &str)]) -> Entry {
        let input = |&(path, hash): &(&str, &str)| Input { path: path.into(), hash: hash.into() };
        Entry {
            inputs: inputs.iter().map(input).collect(),
            object: blake3::hash(bytes).to_hex().to_string(),
            ..Entry::default()
        }
    }

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path()).unwrap();
        (folder, cache)
    }

    #[test]
    fn an_entry_is_found_while_its_inputs_are_the_same() {
        let (_folder, cache) = cache();
        cache.store("key0", entry(b"one", &[("a.h", "1")]), b"one").unwrap();
        cache.store("key0", entry(b"two", &[("a.h", "2")]), b"two").unwrap();
        let with = |hash: &str| cache.lookup("key0", |_| Some(hash.to_owned())).map(|(_, bytes)| bytes);
        assert_eq!(with("1").as_deref(), Some(&b"one"[..]));
        assert_eq!(with("2").as_deref(), Some(&b"two"[..]));
        assert_eq!(with("3"), None);
        assert!(cache.lookup("key0", |_| None).is_none());
        assert!(cache.lookup("key1", |_| Some("1".into())).is_none());
    }

    #[test]
    fn one_at_a_time_has_the_turn_of_a_key() {
        let (_folder, cache) = cache();
        let first = cache.turn("key0");
        assert!(first.file.is_some() && cache.turn("key1").file.is_some());
        assert!(cache.turn_within("key0", Duration::from_millis(20)).file.is_none(), "goes on without");
        let order = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let second = cache.turn("key0");
                order.lock().unwrap().push("second");
                assert!(second.file.is_some());
            });
            std::thread::sleep(Duration::from_millis(20));
            order.lock().unwrap().push("first");
            drop(first);
        });
        assert_eq!(order.into_inner().unwrap(), ["first", "second"]);
        assert_eq!(children(&cache.root.join("turns")), <[PathBuf; 0]>::default(), "nothing is left");
    }

    #[test]
    fn without_locks_nobody_waits() {
        let (_folder, cache) = cache();
        fs::remove_dir(cache.root.join("turns")).unwrap();
        assert!(cache.turn("key0").file.is_none() && cache.turn("key0").file.is_none());
    }

    #[test]
    fn damage_is_noticed_and_repaired() {
        let (_folder, cache) = cache();
        let stored = entry(b"code", &[]);
        cache.store("key0", stored.clone(), b"code").unwrap();
        let object = cache.place("objects", &stored.object);
        for damage in [&b"c0de"[..], b"cod", b""] {
            fs::write(&object, damage).unwrap();
            assert!(cache.lookup("key0", |_| None).is_none());
            cache.store("key0", stored.clone(), b"code").unwrap();
            assert!(cache.lookup("key0", |_| None).is_some());
        }
        let manifest = cache.place("manifests", "key0");
        let mut bytes = fs::read(&manifest).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&manifest, bytes).unwrap();
        assert!(cache.lookup("key0", |_| None).is_none());
    }

    #[test]
    fn what_was_used_longest_ago_is_trimmed_first() {
        let (_folder, cache) = cache();
        for (key, bytes) in [("key0", [0; 10_000]), ("key1", [1; 10_000]), ("key2", [2; 10_000])] {
            cache.store(key, entry(&bytes, &[]), &bytes).unwrap();
        }
        let past = SystemTime::now() - STALE;
        for kind in ["objects", "manifests"] {
            for path in children(&cache.root.join(kind)).iter().flat_map(|folder| children(folder)) {
                File::options().append(true).open(path).unwrap().set_modified(past).unwrap();
            }
        }
        assert!(cache.lookup("key1", |_| None).is_some());
        cache.trim(15_000).unwrap();
        let there = |key| cache.lookup(key, |_| None).is_some();
        assert_eq!(["key0", "key1", "key2"].map(there), [false, true, false]);
        cache.clear().unwrap();
        assert!(!there("key1"));
        cache.store("key1", entry(b"one", &[]), b"one").unwrap();
        assert!(there("key1"));
    }

    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let Ok(mut full) = File::options().write(true).open("/dev/full") else {
            eprintln!("skipped: no /dev/full");
            return;
        };
        let error = fill(&mut full, Path::new("/cache/objects/ab/abcd"), &[0; 100_000]).unwrap_err();
        assert!(error.is_disk_full());
        let text = error.to_string();
        assert!(text.contains("/cache/objects/ab/abcd") && text.contains("FERROCM_CACHE"), "{text}");
    }

    #[test]
    fn a_cache_that_is_a_file_is_an_error_that_names_it() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Cache::open(file.path()).unwrap_err();
        assert!(matches!(&error, Error::Io { path, .. } if path.starts_with(file.path())), "{error}");
    }

    #[test]
    fn what_interrupted_builds_left_is_removed_after_a_day() {
        let (folder, cache) = cache();
        let (old, new) = (cache.tmp().join("old"), cache.tmp().join("new"));
        for path in [&old, &new] {
            fs::create_dir(path).unwrap();
            fs::write(path.join("half.o"), "half").unwrap();
        }
        let past = SystemTime::now() - 2 * STALE;
        File::open(&old).unwrap().set_modified(past).unwrap();
        Cache::open(folder.path()).unwrap();
        assert!(!old.exists() && new.exists());
    }
}
