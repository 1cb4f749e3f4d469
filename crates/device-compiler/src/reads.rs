//! The dependencies of a compilation: the files that it read, and those that it looked for and did not find.
//!
//! All of this comes from the compiler. It lists the files that it read (`-dependency-file`), including those
//! that `__has_include` found and `#embed` read. It does not list missing files, so a second run of its
//! preprocessor reports where it looks (`search`):
//! * the folders in which it looks for headers, including those that do not exist;
//! * each place where a source asks whether a file exists (`__has_include`, `__has_embed`), and the name that
//!   it asks for.
//!
//! Inline assembly can also read files (`.incbin`). The compiler does not report these, but the IR has the
//! assembly's final text (`assembly`).
//!
//! If it remains unknown what was read or asked for, such as a name from a macro, the compilation has no
//! known dependencies, and its result is not cached.

pub(crate) mod assembly;
mod options;
mod search;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::cache::{Dependencies, Input};
use crate::files::is_absent;
use crate::limits::Limits;
use crate::{Error, depfile, overlay};

use search::{Search, Watch};

/// What a compilation read and looked for.
#[derive(Clone, Debug)]
pub struct Reads {
    /// Its start: newer files may have changed since they were read.
    begin: SystemTime,
    /// The compiler's current folder, the base of relative paths.
    folder: PathBuf,
    files: Vec<PathBuf>,
    search: Search,
}

/// A compilation whose dependencies are being recorded.
pub struct Learning {
    begin: SystemTime,
    folder: PathBuf,
    list: PathBuf,
    watch: Option<Watch>,
}

impl Learning {
    /// Starts recording a compilation by `command`, which has its source and all options except output and
    /// precompiled headers. Makes it list its reads in the folder `work`.
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Program`], if the preprocessor cannot be asked where it looks.
    pub fn begin(
        command: &mut Command,
        options: &[&OsStr],
        work: &Path,
        limits: Limits,
    ) -> Result<Self, Error> {
        let here = || std::env::current_dir().map_err(|e| Error::io("look up", ".", e));
        let folder = command.get_current_dir().map_or_else(here, |folder| Ok(folder.to_owned()))?;
        let list = work.join("reads.d");
        let begin = SystemTime::now();
        let watch = if options::are_known(options, &folder) {
            Some(Watch::start(command, options, work, limits)?)
        } else {
            None
        };
        command.args(list_of_files(&list));
        Ok(Self { begin, folder, list, watch })
    }

    /// The dependencies of the compilation after its success; `None` if they are incomplete.
    ///
    /// `source` is the text of the source, for messages that name no file.
    ///
    /// # Errors
    /// As [`begin`](Self::begin), and [`Error::Limit`].
    pub fn end(self, source: &[u8]) -> Result<Option<Reads>, Error> {
        let Some(watch) = self.watch else { return Ok(None) };
        let text = match fs::read_to_string(&self.list) {
            Ok(text) => text,
            // A compiler that did not do what it was told.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &self.list, error)),
        };
        let files: Vec<_> = depfile::parse(&text).into_iter().map(|file| self.folder.join(file)).collect();
        let Some(search) = watch.end(&self.folder, source, &files)? else { return Ok(None) };
        Ok(Some(Reads { begin: self.begin, folder: self.folder, files, search }))
    }
}

/// The options that list the files that a compilation reads. The driver refuses -MD for device code, but the
/// compiler behind it accepts it.
pub fn list_of_files(list: &Path) -> impl Iterator<Item = OsString> {
    let options = [
        "-dependency-file".into(),
        list.as_os_str().to_owned(),
        "-MT".into(),
        "out".into(),
        "-sys-header-deps".into(),
    ];
    options.into_iter().flat_map(|option| ["-Xclang".into(), option])
}

impl Reads {
    /// The same for a compilation in a build that has examined files before.
    #[must_use]
    pub fn since(&self, begin: SystemTime) -> Self {
        Self { begin: begin.min(self.begin), ..self.clone() }
    }

    /// Whether the preprocessed source seems to contain inline assembly that reads files.
    #[must_use]
    pub fn may_assemble_files(&self) -> bool {
        self.search.assembles_files
    }

    /// The dependencies outside the folders `own`, which nobody else changes; `None` if they are unknown or
    /// have changed in the meantime. `hash` returns a file's hash.
    #[must_use]
    pub fn dependencies(
        &self,
        own: &[&Path],
        hash: impl Fn(&Path) -> Option<String>,
    ) -> Option<Dependencies> {
        let own = |path: &Path| own.iter().any(|folder| path.starts_with(folder));
        let mut files = Vec::new();
        for path in &self.files {
            // A path that leaves such a folder through `..` leads elsewhere the next time.
            if own(path) {
                if !own(&overlay::named(path)) {
                    return None;
                }
                continue;
            }
            // The source of precompiled headers; always empty.
            if path == Path::new("/dev/null") {
                continue;
            }
            let meta = fs::metadata(path).ok()?;
            // Anything but a file may give different bytes each time.
            if !meta.is_file() || meta.modified().ok()? >= self.begin {
                return None;
            }
            files.push(Input { path: path.clone(), hash: hash(path)? });
        }
        let mut absent = BTreeSet::new();
        for path in self.places() {
            if !own(&path) {
                absent.extend(missing(&path));
            } else if !own(&overlay::named(&path)) {
                return None;
            }
        }
        Some(Dependencies { files, absent: absent.into_iter().collect() })
    }

    /// Every path at which the compiler may have looked before it found a file, or found none.
    fn places(&self) -> Vec<PathBuf> {
        let Search { folders, asked, .. } = &self.search;
        let in_toolchain =
            |file: &Path| folders.iter().any(|folder| !folder.is_callers && file.starts_with(&folder.path));
        // A name in quotes is first looked up beside the including file.
        let mut beside: BTreeSet<&Path> = BTreeSet::from([self.folder.as_path()]);
        beside.extend(self.files.iter().filter(|file| !in_toolchain(file)).filter_map(|file| file.parent()));
        // Toolchain folders from which something is read are trusted as a whole.
        let is_used = |folder: &Path| self.files.iter().any(|file| file.starts_with(folder));
        let open = folders.iter().map(|folder| folder.is_callers || !is_used(&folder.path));
        let open: Vec<bool> = open.collect();
        let mut places = Vec::new();
        for file in &self.files {
            for (index, found) in folders.iter().enumerate() {
                let Ok(name) = file.strip_prefix(&found.path) else { continue };
                let before = folders[..index].iter().zip(&open).filter(|(_, open)| **open);
                let before = before.map(|(folder, _)| folder.path.as_path());
                places.extend(before.chain(beside.iter().copied()).map(|folder| folder.join(name)));
            }
        }
        for name in asked {
            let folders = folders.iter().map(|folder| folder.path.as_path());
            places.extend(folders.chain(beside.iter().copied()).map(|folder| folder.join(name)));
        }
        places
    }
}

/// The missing part of a path, if the file does not exist: the first missing folder, or else the file.
fn missing(path: &Path) -> Option<PathBuf> {
    if !is_absent(path) {
        return None;
    }
    let mut shortest = path;
    for above in path.ancestors().skip(1) {
        // A dangling link is not the same as nothing.
        if above.ends_with("..") || fs::symlink_metadata(above).is_ok() {
            break;
        }
        shortest = above;
    }
    Some(shortest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_missing_path_the_first_missing_folder_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("there")).unwrap();
        fs::write(root.join("there/file"), "").unwrap();
        assert_eq!(missing(&root.join("there/file")), None);
        assert_eq!(missing(&root.join("there/no")), Some(root.join("there/no")));
        assert_eq!(missing(&root.join("no/such/file")), Some(root.join("no")));
        // A folder is not a file, and a file is not a folder.
        assert_eq!(missing(&root.join("there")), Some(root.join("there")));
        assert_eq!(missing(&root.join("there/file/x")), Some(root.join("there/file/x")));
    }
}
