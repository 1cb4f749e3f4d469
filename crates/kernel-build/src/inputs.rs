//! The files that compilations read, and their part in cache keys.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use device_compiler::cache::{Dependencies, Input};
use device_compiler::depfile;

use crate::discover::{Searched, Sources};

use crate::Error;

/// The files of a build.
pub(crate) struct Inputs<'a> {
    /// The folder that source names are relative to.
    pub(crate) folder: &'a Path,
    /// What may be elsewhere without another result: the folder, or its parent if headers are beside it.
    pub(crate) root: &'a Path,
    /// Where headers may lie beside them.
    pub(crate) beside: &'a [Searched],
    /// The folders of headers that the caller names.
    pub(crate) includes: &'a [PathBuf],
    /// Start of the build: a newer file may have changed during its compilation.
    pub(crate) begin: SystemTime,
    hashes: Mutex<HashMap<PathBuf, Option<String>>>,
}

impl<'a> Inputs<'a> {
    /// The inputs of a build that begins now.
    pub(crate) fn new(sources: &'a Sources, includes: &'a [PathBuf]) -> Self {
        let Sources { folder, beside, .. } = sources;
        let parent = folder.parent().filter(|parent| parent.parent().is_some());
        let mut outside = includes.iter().filter(|include| !include.starts_with(folder));
        let root = parent.filter(|parent| outside.any(|include| include.starts_with(parent)));
        let root = root.unwrap_or(folder);
        Self { folder, root, beside, includes, begin: SystemTime::now(), hashes: Mutex::default() }
    }

    /// What code and the cache call the folders of headers beside that of the sources, as seen from there.
    pub(crate) fn names_beside(&self) -> impl Iterator<Item = (&'a Path, PathBuf)> {
        let (folder, root) = (self.folder, self.root);
        self.includes.iter().filter(move |include| !include.starts_with(folder)).filter_map(move |include| {
            Some((include.as_path(), Path::new("..").join(include.strip_prefix(root).ok()?)))
        })
    }

    /// The hash of a file's content, computed once per build.
    pub(crate) fn hash(&self, path: &Path) -> Option<String> {
        let mut hashes = self.hashes.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        hashes
            .entry(path.to_owned())
            .or_insert_with(|| Some(blake3::hash(&std::fs::read(path).ok()?).to_hex().to_string()))
            .clone()
    }

    /// The files in a compilation's dependency list, except those that are already `known`. `None` if a file
    /// is newer than the build.
    pub(crate) fn listed(
        &self,
        list: &Path,
        known: impl Fn(&Path) -> bool,
    ) -> Result<Option<Dependencies>, Error> {
        let text = std::fs::read_to_string(list).map_err(|e| Error::io("read", list, e))?;
        let input = |path: PathBuf| {
            let modified = std::fs::metadata(&path).and_then(|meta| meta.modified()).ok()?;
            let hash = self.hash(&path).filter(|_| modified < self.begin)?;
            Some(Input { path, hash })
        };
        let files: Option<Vec<Input>> =
            depfile::parse(&text).into_iter().filter(|path| !known(path)).map(input).collect();
        Ok(files.map(|files| Dependencies { files, absent: Vec::new() }))
    }
}

/// Adds a part of a key, delimited from its neighbours.
pub(crate) fn part(key: &mut blake3::Hasher, bytes: &[u8]) {
    key.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
}

/// Adds the folders that the caller names, as [`headers_of`] does.
pub(crate) fn headers_of_all(
    key: &mut blake3::Hasher,
    folders: &[PathBuf],
    root: Option<&Path>,
) -> Result<(), Error> {
    folders.iter().try_for_each(|path| headers_of(key, &Searched { path: path.clone(), below: true }, root))
}

/// Adds a folder and the names of its headers: one that appears in an earlier folder changes what an include
/// finds, though no known input changes. A folder in `root` is named relative to it.
pub(crate) fn headers_of(
    key: &mut blake3::Hasher,
    folder: &Searched,
    root: Option<&Path>,
) -> Result<(), Error> {
    let name = root.and_then(|root| folder.path.strip_prefix(root).ok()).unwrap_or(&folder.path);
    part(key, name.as_os_str().as_encoded_bytes());
    for header in folder.headers()? {
        part(key, header.as_os_str().as_encoded_bytes());
    }
    Ok(())
}
