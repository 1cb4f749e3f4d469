//! Selection of the files to compile.

use std::path::{Path, PathBuf};

use crate::error::io;
use crate::pattern;
use crate::{Error, Result};

/// The files to compile if none are named.
const DEFAULT: &str = "src/**/*.cu";

#[derive(Clone, Debug)]
enum Place {
    Folder(PathBuf),
    File(PathBuf),
    Glob(String),
}

/// Selects device sources: `.cu` files in folders and below, single files, and files that match patterns.
#[derive(Clone, Debug, Default)]
pub struct SourceSelector {
    places: Vec<Place>,
    excludes: Vec<String>,
    watched: Vec<PathBuf>,
}

impl SourceSelector {
    /// Files that match `src/**/*.cu`, unless something is added.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the `.cu` files in a folder and below.
    #[must_use]
    pub fn add_directory<P: AsRef<Path>>(mut self, dir: P) -> Self {
        self.places.push(Place::Folder(dir.as_ref().to_owned()));
        self
    }

    /// Adds files.
    #[must_use]
    pub fn add_files<I, P>(mut self, files: I) -> Self
    where
        I: IntoIterator<Item = P>,
        P: AsRef<Path>,
    {
        self.places.extend(files.into_iter().map(|file| Place::File(file.as_ref().to_owned())));
        self
    }

    /// Adds the `.cu` files that match a pattern: `src/**/*.cu`.
    #[must_use]
    pub fn add_glob(mut self, pattern: &str) -> Self {
        self.places.push(Place::Glob(pattern.to_owned()));
        self
    }

    /// Leaves out files whose names match a pattern (`*_test.cu`), or that are in a folder (`deprecated/*`).
    #[must_use]
    pub fn exclude(mut self, patterns: &[&str]) -> Self {
        self.excludes.extend(patterns.iter().map(|&pattern| pattern.to_owned()));
        self
    }

    /// Makes Cargo watch these files and folders, too.
    #[must_use]
    pub fn watch<I, P>(mut self, paths: I) -> Self
    where
        I: IntoIterator<Item = P>,
        P: AsRef<Path>,
    {
        self.watched.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// The files, sorted, each once.
    ///
    /// # Errors
    /// [`Error::SourcePathNotFound`] for a file or folder that does not exist, [`Error::InvalidConfig`] for
    /// an invalid pattern, and [`Error::Io`].
    pub fn resolve(&self) -> Result<Vec<PathBuf>> {
        let default = [Place::Glob(DEFAULT.to_owned())];
        let places = if self.places.is_empty() { &default[..] } else { &self.places };
        let mut files = Vec::new();
        for place in places {
            match place {
                Place::File(path) | Place::Folder(path) if !path.exists() => {
                    return Err(Error::SourcePathNotFound(path.clone()));
                }
                Place::File(path) => files.push(path.clone()),
                Place::Folder(folder) => {
                    files.extend(below(folder)?.into_iter().filter(|path| is_source(path)))
                }
                Place::Glob(text) => files.extend(of_glob(text)?.into_iter().filter(|path| is_source(path))),
            }
        }
        files.retain(|file| !self.is_excluded(file));
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// The paths given to [`watch`](Self::watch).
    #[must_use]
    pub fn watch_paths(&self) -> &[PathBuf] {
        &self.watched
    }

    fn is_excluded(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.excludes.iter().any(|text| match text.strip_suffix("/*") {
            Some(folder) => {
                path.parent().is_some_and(|parent| parent.ends_with(folder) || has_part(parent, folder))
            }
            None => pattern::fits(text, &name),
        })
    }
}

/// Whether a component of a path has this name.
fn has_part(path: &Path, name: &str) -> bool {
    path.components().any(|part| part.as_os_str() == name)
}

fn is_source(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cu")
}

/// All files in a folder and below.
fn below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let read = |error| io("read the folder", folder, &error);
    for entry in std::fs::read_dir(folder).map_err(read)? {
        let entry = entry.map_err(read)?;
        let path = entry.path();
        // Linked folders are not searched: a link may lead back here.
        if entry.file_type().map_err(read)?.is_dir() {
            files.extend(below(&path)?);
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(files)
}

/// The files that match a pattern; none if its folder does not exist.
fn of_glob(text: &str) -> Result<Vec<PathBuf>> {
    let text = text.strip_prefix("./").unwrap_or(text);
    let glob = kernel_build::Glob::new(text).map_err(|error| Error::InvalidConfig(error.to_string()))?;
    // The folders before the first component with a special character.
    let plain = text.split('/').take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
    let mut folder: PathBuf = plain.map(|part| if part.is_empty() { "/" } else { part }).collect();
    if folder.is_file() {
        return Ok(vec![folder]);
    }
    let relative = folder.as_os_str().is_empty();
    if relative {
        folder.push(".");
    }
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let found = below(&folder)?.into_iter();
    let found = found
        .map(|path| if relative { path.strip_prefix(".").map(Path::to_owned).unwrap_or(path) } else { path });
    Ok(found.filter(|path| glob.matches(path.as_os_str().as_encoded_bytes())).collect())
}

/// The headers (`.cuh`) in folders and below, sorted, each once.
pub fn collect_headers<P: AsRef<Path>>(dirs: &[P]) -> Vec<PathBuf> {
    let files = dirs.iter().filter_map(|dir| below(dir.as_ref()).ok()).flatten();
    let mut headers: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "cuh")).collect();
    headers.sort();
    headers.dedup();
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in ["a.cu", "a_test.cu", "x.cuh", "old/b.cu", "old/deep/c.cu", "moe/d.cu", "moe/n.txt"] {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn names(root: &Path, selector: &SourceSelector) -> Vec<String> {
        let name = |path: PathBuf| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        selector.resolve().unwrap().into_iter().map(name).collect()
    }

    #[test]
    fn folders_files_and_patterns_name_sources() {
        let folder = folder();
        let root = folder.path();
        let all = SourceSelector::new().add_directory(root);
        assert_eq!(names(root, &all), ["a.cu", "a_test.cu", "moe/d.cu", "old/b.cu", "old/deep/c.cu"]);
        let some = all.exclude(&["*_test.cu", "old/*"]);
        assert_eq!(names(root, &some), ["a.cu", "moe/d.cu"]);
        let files = SourceSelector::new().add_files([root.join("moe/d.cu"), root.join("moe/d.cu")]);
        assert_eq!(names(root, &files), ["moe/d.cu"]);
        let glob = |pattern: &str| SourceSelector::new().add_glob(&format!("{}/{pattern}", root.display()));
        assert_eq!(names(root, &glob("*.cu")), ["a.cu", "a_test.cu"]);
        assert_eq!(names(root, &glob("**/[bc].cu")), ["old/b.cu", "old/deep/c.cu"]);
        assert_eq!(names(root, &glob("moe/d.cu")), ["moe/d.cu"]);
        assert!(names(root, &glob("no/*.cu")).is_empty());
        assert_eq!(collect_headers(&[root, root]), [root.join("x.cuh")]);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let selector = SourceSelector::new().add_files(["no/such.cu"]);
        assert!(
            matches!(selector.resolve(), Err(Error::SourcePathNotFound(path)) if path == Path::new("no/such.cu"))
        );
        let selector = SourceSelector::new().add_glob("a[.cu");
        assert!(selector.resolve().unwrap_err().to_string().contains("a[.cu"));
    }
}
