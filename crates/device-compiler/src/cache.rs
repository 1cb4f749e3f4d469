//! A cache of compiled code on disk, keyed by its inputs.
//!
//! ```text
//! <root>/manifests/<ab>/<key>    which headers a source read, and the code object that came out
//! <root>/objects/<ab>/<hash>     code objects, named by the hash of their own bytes
//! <root>/cuda/<hash>/            CUDA's headers for AMD targets, by their content
//! <root>/turns/<key>             locked by who compiles what a key stands for
//! <root>/tmp/                    files that are being written
//! ```
//! A *key* is the hash of everything that is known before compiling: source, options, target, compiler. A
//! key's manifest has one entry for each state of the files in which it was compiled: those that were
//! [read](Dependencies::files), and those that were [looked for but missing](Dependencies::absent). Files are
//! published by renaming complete ones and checked against their hashes when read. So neither an interrupted
//! build nor a damaged disk can give a wrong result: at worst, something is compiled again. A manifest names
//! its key, and its hash depends on the key, so one kernel's manifest is never taken for another's.
//!
//! The folder is private: it must belong to the user, and nobody else may write to it, or [`Cache::open`]
//! refuses it. Files in it that somebody else owns or may write to are ignored, and so are links.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use crate::files::{fill, is_absent};
use crate::private::{self, Owner};
use crate::{Diagnostic, Error};

/// The context of a manifest's hash: a different text for every format.
const MANIFEST: &str = "ferrocm kernel cache manifest 2";

/// The number of header states that a manifest keeps.
const ENTRIES: usize = 8;
/// Age at which a file in `tmp` counts as left behind by an interrupted build.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// How long to wait for another process or thread that compiles the same.
const TURN: Duration = Duration::from_secs(600);
/// The shortest and longest pause between two checks.
const PAUSES: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// A folder of compiled code. Any number of a user's processes may use it at once.
#[derive(Clone, Debug)]
pub struct Cache {
    root: PathBuf,
    owner: Owner,
    /// See [`relative_to`](Self::relative_to).
    movable: Option<Movable>,
    /// Removes the folder of a cache that is for this process only.
    _temporary: Option<Arc<tempfile::TempDir>>,
}

/// A file that a compilation read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The file.
    pub path: PathBuf,
    /// blake3 hash of its content, hexadecimal.
    pub hash: String,
}

/// The state of the files that a compilation depends on, beyond what its key covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependencies {
    /// The files that it read.
    pub files: Vec<Input>,
    /// Missing files that it would have read, or that its source asked for (`__has_include`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<PathBuf>,
}

impl Dependencies {
    /// Whether nothing has changed. `hash` returns a file's current hash, if it can be read.
    pub fn hold(&self, hash: impl Fn(&Path) -> Option<String>) -> bool {
        self.files.iter().all(|input| hash(&input.path).as_ref() == Some(&input.hash))
            && self.absent.iter().all(|path| is_absent(path))
    }
}

impl Dependencies {
    /// As JSON, for a compiler that passes them through a C interface.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the output of [`to_json`](Self::to_json); `None` for any other text.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// The current hash of a file's content, for [`Cache::lookup`]; `None` if it is not a file or cannot be read.
///
/// The hash is remembered while the file's inode number, size and times stay the same.
#[must_use]
pub fn hash_of_file(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    type Look = [i128; 5];
    static KNOWN: Mutex<BTreeMap<PathBuf, (Look, String)>> = Mutex::new(BTreeMap::new());
    let look = |meta: &fs::Metadata| {
        let time = |seconds: i64, part: i64| i128::from(seconds) * 1_000_000_000 + i128::from(part);
        [
            meta.dev().into(),
            meta.ino().into(),
            meta.len().into(),
            time(meta.mtime(), meta.mtime_nsec()),
            time(meta.ctime(), meta.ctime_nsec()),
        ]
    };
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let meta = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let now = look(&meta);
    if let Some((_, hash)) = known().get(path).filter(|(before, _)| *before == now) {
        return Some(hash.clone());
    }
    let hash = blake3::hash(&fs::read(path).ok()?).to_hex().to_string();
    // A file that was just written may be written again within the same time stamp.
    let is_old = meta.modified().ok()?.elapsed().is_ok_and(|age| age > Duration::from_secs(2));
    if is_old {
        known().insert(path.to_owned(), (now, hash.clone()));
    }
    Some(hash)
}

/// The result of a compilation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its dependencies.
    pub inputs: Dependencies,
    /// blake3 hash of the code, hexadecimal.
    pub object: String,
    /// The compiler's messages.
    pub diagnostics: Vec<Diagnostic>,
    /// The program's name expressions with their names in the code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(String, String)>,
}

impl Entry {
    /// Changes everything that may name a file: paths, and texts of the compiler.
    fn change(&mut self, in_path: &dyn Fn(&Path) -> Option<PathBuf>, in_text: &dyn Fn(&str) -> String) {
        let change = |path: &mut PathBuf| {
            if let Some(changed) = in_path(path) {
                *path = changed;
            }
        };
        self.inputs.files.iter_mut().map(|input| &mut input.path).for_each(change);
        self.inputs.absent.iter_mut().for_each(change);
        for Diagnostic { place, message, text, .. } in &mut self.diagnostics {
            place.iter_mut().map(|place| &mut place.file).for_each(change);
            *message = in_text(message);
            *text = in_text(text);
        }
    }
}

/// A folder that may be elsewhere, see [`Cache::relative_to`].
#[derive(Clone, Debug)]
struct Movable {
    folder: PathBuf,
    fixed: Vec<PathBuf>,
}

impl Movable {
    /// Stands for the folder in entries: no path and no text of a compiler has it.
    const MARK: &str = "\0/";

    fn prefix(&self) -> String {
        format!("{}/", self.folder.display())
    }

    /// Makes an entry one of every copy of the folder. If it is one of this folder only, returns its key.
    fn pack(&self, entry: &mut Entry, key: &str) -> Option<String> {
        let Dependencies { files, absent } = &entry.inputs;
        let paths = files.iter().map(|input| &input.path).chain(absent);
        let own = paths.into_iter().any(|path| self.is_beside(path)).then(|| self.own_key(key));
        let prefix = self.prefix();
        let marked = |path: &Path| Some(Path::new(Self::MARK).join(path.strip_prefix(&self.folder).ok()?));
        entry.change(&marked, &|text| text.replace(&prefix, Self::MARK));
        own
    }

    fn unpack(&self, entry: &mut Entry) {
        let prefix = self.prefix();
        let found = |path: &Path| Some(self.folder.join(path.strip_prefix(Self::MARK).ok()?));
        entry.change(&found, &|text| text.replace(Self::MARK, &prefix));
    }

    /// The key of entries for this folder only.
    fn own_key(&self, key: &str) -> String {
        let mut own = blake3::Hasher::new();
        own.update(key.as_bytes()).update(self.folder.as_os_str().as_encoded_bytes());
        own.finalize().to_hex().to_string()
    }

    /// Whether a file outside of the folder may have been found by a path relative to it: the two are in the
    /// same folder of the root folder.
    fn is_beside(&self, path: &Path) -> bool {
        let first = |path: &Path| path.components().nth(1).map(|part| part.as_os_str().to_owned());
        first(path) == first(&self.folder)
            && !path.starts_with(&self.folder)
            && !self.fixed.iter().any(|fixed| path.starts_with(fixed))
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    /// The key of these entries.
    key: String,
    /// Newest first.
    entries: Vec<Entry>,
}

impl Manifest {
    /// The bytes of its file: the hash of the entries, a line break, and the entries.
    fn write(&self) -> Result<Vec<u8>, serde_json::Error> {
        Ok(sealed(&self.key, &serde_json::to_vec(self)?))
    }

    /// Parses the output of [`write`](Self::write) for this key; `None` for anything else.
    fn read(key: &str, bytes: &[u8]) -> Option<Self> {
        let split = bytes.iter().position(|&b| b == b'\n')?;
        let (hash, body) = (&bytes[..split], &bytes[split + 1..]);
        if seal(key, body).as_bytes() != hash {
            return None;
        }
        let manifest: Self = serde_json::from_slice(body).ok()?;
        let is_whole = manifest.key == key && manifest.entries.iter().all(|entry| is_hash(&entry.object));
        is_whole.then_some(manifest)
    }
}

/// The entries for a key in the bytes of a manifest file, newest first; empty if the file is damaged or
/// belongs to another key.
#[must_use]
pub fn entries(key: &str, manifest: &[u8]) -> Vec<Entry> {
    Manifest::read(key, manifest).map(|manifest| manifest.entries).unwrap_or_default()
}

/// The bytes of a manifest file for a key with this text as its entries and a valid hash: what anybody with
/// write access to a cache could put there.
#[must_use]
pub fn sealed(key: &str, body: &[u8]) -> Vec<u8> {
    let mut file = seal(key, body).into_bytes();
    file.push(b'\n');
    file.extend_from_slice(body);
    file
}

/// The hash of a manifest's text, which differs for every key.
fn seal(key: &str, body: &[u8]) -> String {
    blake3::keyed_hash(&blake3::derive_key(MANIFEST, key.as_bytes()), body).to_hex().to_string()
}

/// Whether a text is a hash in the form of [`blake3::Hash::to_hex`], which the cache uses as file names.
fn is_hash(text: &str) -> bool {
    text.len() == 2 * blake3::OUT_LEN && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

impl Cache {
    /// Opens the cache, creates its folders, and checks that they are writable, by nobody else.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::NotPrivate`] name the folder.
    pub fn open(root: &Path) -> Result<Self, Error> {
        let root = std::path::absolute(root).map_err(|e| Error::io("use as cache", root, e))?;
        let folders = ["manifests", "objects", "tmp", "turns"].map(|name| root.join(name));
        for folder in &folders {
            private::make_folder(folder).map_err(|e| Error::io("make the cache folder", folder, e))?;
        }
        let tmp = root.join("tmp");
        let probe =
            tempfile::tempfile_in(&tmp).map_err(|e| Error::io("write to the cache folder", &tmp, e))?;
        let owner = Owner::of_new(&probe).map_err(|e| Error::io("write to the cache folder", &tmp, e))?;
        // A link to the folder is the user's choice; a link inside is not from this cache.
        owner.check(&root, &fs::metadata(&root).map_err(|e| Error::io("look at", &root, e))?)?;
        for folder in &folders {
            owner
                .check(folder, &fs::symlink_metadata(folder).map_err(|e| Error::io("look at", folder, e))?)?;
        }
        let cache = Self { root, owner, movable: None, _temporary: None };
        cache.remove_stale();
        Ok(cache)
    }

    /// A cache that exists as long as it is in use.
    ///
    /// # Errors
    /// [`Error::Io`] names the folder for temporary files.
    pub fn temporary() -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("ferrocm-kernels-").tempdir();
        let folder = folder.map_err(|e| Error::io("make a folder in", std::env::temp_dir(), e))?;
        let cache = Self::open(folder.path())?;
        Ok(Self { _temporary: Some(Arc::new(folder)), ..cache })
    }

    /// The same cache, whose entries name files in this folder relative to it. A copy of the folder, such as
    /// a second clone of a repository, then finds what the first one has compiled. The code must not depend
    /// on where the folder is; see clang's `-ffile-prefix-map`.
    ///
    /// A source that reads a file beside the folder (`#include "../../common.h"`) reads another file in the
    /// copy. Such an entry is found for this folder only. Files in `fixed` are the same for every copy: those
    /// of the compiler, and of folders that are part of the key.
    #[must_use]
    pub fn relative_to(&self, folder: &Path, fixed: Vec<PathBuf>) -> Self {
        Self { movable: Some(Movable { folder: folder.to_owned(), fixed }), ..self.clone() }
    }

    /// The folder of [CUDA's headers](crate::cuda), complete. Nobody else may write to it.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::NotPrivate`] name the file or folder.
    pub fn cuda_headers(&self) -> Result<PathBuf, Error> {
        crate::cuda::write_headers(&self.root.join("cuda"), self.owner)
    }

    fn tmp(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// A separate folder for one compilation; removed when dropped.
    ///
    /// # Errors
    /// [`Error::Io`] names the folder that it would be in.
    pub fn work_folder(&self) -> Result<tempfile::TempDir, Error> {
        let tmp = self.tmp();
        tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(&tmp)
            .map_err(|e| Error::io("make a folder in", tmp, e))
    }

    /// The entry of a key whose files are all unchanged, with its code object.
    ///
    /// `hash` returns a file's current hash, if it can be read.
    pub fn lookup(&self, key: &str, hash: impl Fn(&Path) -> Option<String>) -> Option<(Entry, Vec<u8>)> {
        let own = self.movable.as_ref().map(|movable| movable.own_key(key));
        self.lookup_exactly(key, &hash).or_else(|| self.lookup_exactly(&own?, &hash))
    }

    fn lookup_exactly(&self, key: &str, hash: &impl Fn(&Path) -> Option<String>) -> Option<(Entry, Vec<u8>)> {
        let manifest = self.manifest(key)?;
        manifest.entries.into_iter().find_map(|mut entry| {
            if let Some(movable) = &self.movable {
                movable.unpack(&mut entry);
            }
            let bytes = entry.inputs.hold(hash).then(|| self.read_verified(&entry.object))??;
            Some((entry, bytes))
        })
    }

    /// The result of [`lookup`](Self::lookup), or else the [`turn`](Self::turn) to create it.
    ///
    /// # Errors
    /// If the entry is not found, the error is the turn.
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

    /// Waits while another process or thread compiles this key. After getting the turn, look the key up
    /// again.
    ///
    /// Turns only avoid duplicate work. If the other takes longer than ten minutes, or the file system has no
    /// locks, the caller continues without one. A process that ends frees its turn.
    #[must_use]
    pub fn turn(&self, key: &str) -> Turn {
        self.turn_within(key, TURN)
    }

    fn turn_within(&self, key: &str, longest: Duration) -> Turn {
        let path = self.root.join("turns").join(&*name(key));
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

    /// Links the code with this hash to another path, where it stays whatever happens to the cache.
    ///
    /// # Errors
    /// The system's error.
    pub fn link(&self, hash: &str, path: &Path) -> std::io::Result<()> {
        let file = self.place("objects", hash);
        fs::hard_link(&file, path).or_else(|_| fs::copy(&file, path).map(drop))
    }

    /// Stores the result of a compilation under its key.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn store(&self, key: &str, mut entry: Entry, bytes: &[u8]) -> Result<(), Error> {
        debug_assert_eq!(blake3::hash(bytes).to_hex().as_str(), entry.object);
        let own = self.movable.as_ref().and_then(|movable| movable.pack(&mut entry, key));
        let key = own.as_deref().unwrap_or(key);
        // A damaged file must be replaced, so being there is not enough.
        if self.read_verified(&entry.object).is_none() {
            self.publish(&self.place("objects", &entry.object), bytes)?;
        }
        // If two builders do this at once, the loser's entry is lost, which costs one compilation.
        let mut manifest =
            self.manifest(key).unwrap_or_else(|| Manifest { key: key.to_owned(), entries: Vec::new() });
        manifest.entries.retain(|old| old.inputs != entry.inputs);
        manifest.entries.insert(0, entry);
        manifest.entries.truncate(ENTRIES);
        let path = self.place("manifests", key);
        let file = manifest.write().map_err(|e| Error::io("write", &path, e.into()))?;
        self.publish(&path, &file)
    }

    /// Removes all manifests and code.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn clear(&self) -> Result<(), Error> {
        self.trim(0)
    }

    /// Removes the least recently used files until the code takes at most `bytes` bytes. Other processes
    /// recompile what they miss.
    ///
    /// # Errors
    /// [`Error::Io`] names the file.
    pub fn trim(&self, bytes: u64) -> Result<(), Error> {
        let mut total = 0;
        let mut files = Vec::new();
        for kind in ["objects", "manifests"] {
            for folder in children(&self.root.join(kind)) {
                for path in children(&folder) {
                    // Missing files were removed by another process.
                    let Ok(meta) = fs::symlink_metadata(&path) else { continue };
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

    fn place(&self, kind: &str, key: &str) -> PathBuf {
        let name = name(key);
        self.root.join(kind).join(&name[..2]).join(&*name)
    }

    fn manifest(&self, key: &str) -> Option<Manifest> {
        Manifest::read(key, &self.read(&self.place("manifests", key))?)
    }

    fn read_verified(&self, hash: &str) -> Option<Vec<u8>> {
        let bytes = self.read(&self.place("objects", hash))?;
        (blake3::hash(&bytes).to_hex().as_str() == hash).then_some(bytes)
    }

    /// The bytes of a file that nobody else can have written. Marks the file as used.
    fn read(&self, path: &Path) -> Option<Vec<u8>> {
        let (bytes, file) = self.owner.read(path)?;
        // For `trim`. This has no effect in a read-only cache.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    fn publish(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        if let Some(folder) = path.parent() {
            private::make_folder(folder).map_err(|e| Error::io("make the cache folder", folder, e))?;
        }
        let tmp = self.tmp();
        let mut file =
            tempfile::NamedTempFile::new_in(&tmp).map_err(|e| Error::io("make a file in", &tmp, e))?;
        fill(file.as_file_mut(), path, bytes)?;
        file.persist(path).map_err(|e| Error::io("write", path, e.error))?;
        Ok(())
    }

    /// Removes files left behind by interrupted builds. Errors here are ignored.
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

/// A turn from [`Cache::turn`]; dropping it passes the turn on.
#[derive(Debug)]
pub struct Turn {
    file: Option<(File, PathBuf)>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((file, path)) = self.file.take() {
            // Waiting processes have the file open and still get their turn; later ones create a new file.
            let _ = fs::remove_file(path);
            drop(file);
        }
    }
}

/// The file name of a key: the key itself, if it is a hash.
fn name(key: &str) -> std::borrow::Cow<'_, str> {
    if is_hash(key) { key.into() } else { blake3::hash(key.as_bytes()).to_hex().to_string().into() }
}

/// The paths in a folder, unless it is a link.
fn children(folder: &Path) -> Vec<PathBuf> {
    if fs::symlink_metadata(folder).is_ok_and(|meta| meta.is_symlink()) {
        return Vec::new();
    }
    fs::read_dir(folder).map(|dir| dir.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use test_skip::{Lack, skip};

    use super::*;

    fn entry(bytes: &[u8], inputs: &[(&str, &str)]) -> Entry {
        let input = |&(path, hash): &(&str, &str)| Input { path: path.into(), hash: hash.into() };
        Entry {
            inputs: Dependencies { files: inputs.iter().map(input).collect(), absent: Vec::new() },
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
    fn an_entry_of_a_folder_is_found_for_a_copy_of_it_unless_it_reads_beside() {
        let (_root, cache) = cache();
        let at = |folder: &str| cache.relative_to(folder.as_ref(), vec!["/home/.toolchain".into()]);
        let hash = |path: &Path| Some(format!("hash of {}", path.file_name()?.to_str()?));
        let paths = |found: Option<(Entry, Vec<u8>)>| {
            found.map(|(entry, _)| entry.inputs.files.into_iter().map(|input| input.path).collect::<Vec<_>>())
        };
        for (key, outside, found_by_copy) in [
            ("a", "/usr/include/x.h", true),
            ("b", "/home/.toolchain/x.h", true),
            ("c", "/home/first/x.h", false),
            ("d", "/home/first/kernels-too/x.h", false),
        ] {
            let files = [("/home/first/kernels/a.cuh", "hash of a.cuh"), (outside, "hash of x.h")];
            at("/home/first/kernels").store(key, entry(b"code", &files), b"code").unwrap();
            let own = paths(at("/home/first/kernels").lookup(key, hash));
            assert_eq!(own.unwrap(), files.map(|(path, _)| PathBuf::from(path)));
            let copy = paths(at("/home/second/kernels").lookup(key, hash));
            let expected = ["/home/second/kernels/a.cuh", outside].map(PathBuf::from).to_vec();
            assert_eq!(copy, found_by_copy.then_some(expected), "{outside}");
        }
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
    fn an_entry_is_found_while_what_was_missing_is_missing() {
        let (folder, cache) = cache();
        let missing = folder.path().join("missing.h");
        let mut stored = entry(b"one", &[]);
        stored.inputs.absent.push(missing.clone());
        cache.store("key0", stored, b"one").unwrap();
        let is_there = || cache.lookup("key0", |_| None).is_some();
        assert!(is_there());
        fs::create_dir(&missing).unwrap();
        assert!(is_there(), "a folder is no file");
        fs::remove_dir(&missing).unwrap();
        fs::write(&missing, "").unwrap();
        assert!(!is_there());
    }

    #[test]
    fn a_manifest_of_another_key_is_not_taken_and_neither_is_code_that_it_does_not_name() {
        let (_folder, cache) = cache();
        let keys = ["key0", "key1"].map(|key| blake3::hash(key.as_bytes()).to_hex().to_string());
        cache.store(&keys[0], entry(b"good", &[]), b"good").unwrap();
        cache.store(&keys[1], entry(b"evil", &[]), b"evil").unwrap();
        let [good, evil] = [0, 1].map(|index| cache.place("manifests", &keys[index]));
        let [text, other] = [&good, &evil].map(|path| fs::read_to_string(path).unwrap());
        let (_, body) = text.split_once('\n').unwrap();
        let hash = |bytes: &[u8]| blake3::hash(bytes).to_hex().to_string();
        let swapped = body.replace(&hash(b"good"), &hash(b"evil"));
        let with_good_hash = |body: &str| format!("{}\n{body}", hash(body.as_bytes()));
        let renamed = other.replace(&keys[1], &keys[0]);
        for forged in [other, renamed, with_good_hash(&swapped), with_good_hash(body)] {
            fs::write(&good, &forged).unwrap();
            assert!(cache.lookup(&keys[0], |_| None).is_none(), "{forged}");
        }
        fs::write(&good, text).unwrap();
        assert_eq!(cache.lookup(&keys[0], |_| None).unwrap().1, b"good");
    }

    #[test]
    fn names_of_code_that_are_no_hashes_are_not_taken_and_no_panic() {
        let (_folder, cache) = cache();
        for name in ["", "a", "é", "..", "/etc/passwd", "../../../../etc/passwd", &"A".repeat(64)] {
            let manifest = Manifest {
                key: "key0".into(),
                entries: vec![Entry { object: name.into(), ..Entry::default() }],
            };
            let path = cache.place("manifests", "key0");
            private::make_folder(path.parent().unwrap()).unwrap();
            fs::write(&path, manifest.write().unwrap()).unwrap();
            assert!(cache.lookup("key0", |_| None).is_none(), "{name}");
        }
        for key in ["", "é", "../../x", "/"] {
            cache.store(key, entry(b"code", &[]), b"code").unwrap();
            assert!(cache.lookup(key, |_| None).is_some() && cache.turn(key).file.is_some(), "{key}");
        }
    }

    #[test]
    fn a_cache_that_others_may_write_to_is_refused_and_so_is_a_file_in_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let (folder, cache) = cache();
        cache.store("key0", entry(b"code", &[]), b"code").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let manifest = cache.place("manifests", "key0");
        set(&manifest, 0o666);
        assert!(cache.lookup("key0", |_| None).is_none());
        set(&manifest, 0o644);
        assert!(cache.lookup("key0", |_| None).is_some());
        for inside in ["", "objects"] {
            let path = folder.path().join(inside);
            set(&path, 0o777);
            let error = Cache::open(folder.path()).unwrap_err();
            assert!(matches!(error, Error::NotPrivate { .. }), "{error}");
            let text = error.to_string();
            assert!(
                text.contains("0777") && text.contains("chmod") && text.contains("FERROCM_CACHE"),
                "{text}"
            );
            set(&path, 0o755);
        }
        Cache::open(folder.path()).unwrap();
        // A link instead of a folder leads elsewhere.
        let objects = folder.path().join("objects");
        fs::rename(&objects, folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("moved"), &objects).unwrap();
        assert!(matches!(Cache::open(folder.path()), Err(Error::NotPrivate { .. })));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_of_a_manifest_give_other_code(
            bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..64),
            at in 0_usize..400,
            remove in 0_usize..80,
        ) {
            let whole = Manifest { key: "key0".into(), entries: vec![entry(b"code", &[("a.h", "1")])] };
            let mut manifest = whole.write().unwrap();
            let at = at.min(manifest.len());
            let end = (at + remove).min(manifest.len());
            let is_same = manifest[at..end] == bytes;
            manifest.splice(at..end, bytes.iter().copied());
            let read = entries("key0", &manifest);
            assert!(if is_same { read == whole.entries } else { read.is_empty() });
            assert!(entries("key0", &bytes).is_empty());
            assert!(entries("key1", &manifest).is_empty());
        }
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
            return skip(Lack::Machine, "no /dev/full");
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
