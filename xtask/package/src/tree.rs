//! The files of a package, sorted, with the attributes that archives need.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry as Slot;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// An entry of a package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A file; programs and shared libraries are executable.
    File { bytes: Vec<u8>, executable: bool },
    /// A symbolic link, and its target.
    Link(String),
}

impl Entry {
    /// A data file.
    pub(crate) fn data(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File { bytes: bytes.into(), executable: false }
    }

    /// A program.
    pub(crate) fn program(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File { bytes: bytes.into(), executable: true }
    }

    /// The bytes of a file; empty for a link.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::File { bytes, .. } => bytes,
            Self::Link(_) => &[],
        }
    }

    /// Permissions for archives.
    pub(crate) fn mode(&self) -> u32 {
        match self {
            Self::File { executable: true, .. } => 0o755,
            Self::File { .. } => 0o644,
            Self::Link(_) => 0o777,
        }
    }
}

/// Files by their relative paths, with `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds an entry.
    ///
    /// # Errors
    /// The path is absolute, leads out of the tree, or already exists.
    pub(crate) fn add(&mut self, path: impl Into<String>, entry: Entry) -> Result<()> {
        let path = path.into();
        let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !path.split('/').all(is_plain) {
            bail!("`{path}` is not a relative path in a package");
        }
        match self.0.entry(path) {
            Slot::Occupied(slot) => bail!("`{}` is in the package twice", slot.key()),
            Slot::Vacant(slot) => slot.insert(entry),
        };
        Ok(())
    }

    /// Adds everything in a folder on disk.
    pub(crate) fn add_folder(&mut self, at: &str, folder: &Path) -> Result<()> {
        let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.with_context(|| format!("{} is not named in UTF-8", path.display()))?;
            let inside = format!("{at}/{name}");
            let read = || format!("cannot read {}", path.display());
            let metadata = fs::symlink_metadata(&path).with_context(read)?;
            if metadata.is_symlink() {
                let to = fs::read_link(&path).with_context(read)?;
                let to = to
                    .to_str()
                    .with_context(|| format!("{} leads to a path that is not UTF-8", path.display()))?;
                self.add(inside, Entry::Link(to.to_owned()))?;
            } else if metadata.is_dir() {
                self.add_folder(&inside, &path)?;
            } else {
                let executable = metadata.permissions().mode() & 0o111 != 0;
                self.add(inside, Entry::File { bytes: fs::read(&path).with_context(read)?, executable })?;
            }
        }
        Ok(())
    }

    /// The entries, by path.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry))
    }

    /// The entry at a path.
    pub(crate) fn get(&self, path: &str) -> Option<&Entry> {
        self.0.get(path)
    }

    /// The folders of the entries, each once, before its subfolders, without the root.
    pub(crate) fn folders(&self) -> Vec<&str> {
        let mut folders: Vec<&str> =
            self.0.keys().flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end])).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// The same tree below a folder.
    pub(crate) fn below(&self, folder: &str) -> Tree {
        Tree(self.0.iter().map(|(path, entry)| (format!("{folder}/{path}"), entry.clone())).collect())
    }

    /// Bytes of all files.
    pub(crate) fn size(&self) -> u64 {
        self.0.values().map(|entry| entry.bytes().len() as u64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_tree_and_are_there_once() {
        let mut tree = Tree::default();
        tree.add("b/c/d", Entry::data("d")).expect("added");
        tree.add("a", Entry::program("a")).expect("added");
        for bad in ["", "/a", "a/", "a//b", "../a", "a/./b", "a"] {
            assert!(tree.add(bad, Entry::data("")).is_err(), "{bad}");
        }
        assert_eq!(tree.folders(), ["b", "b/c"]);
        assert_eq!(tree.below("p").folders(), ["p", "p/b", "p/b/c"]);
        assert_eq!(tree.size(), 2, "what is refused changes nothing");
        assert_eq!(tree.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["a", "b/c/d"]);
    }
}
