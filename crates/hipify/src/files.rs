//! Finds sources, and writes files atomically.

use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::Error;

/// The extensions of sources to look for in folders.
pub const EXTENSIONS: &[&str] =
    &["c", "cc", "cpp", "cu", "cuh", "cxx", "h", "hh", "hpp", "hxx", "inl", "inc", "tpp"];

/// The extension added to the original of a source that is translated in place.
pub const ORIGINAL: &str = "prehip";

/// A source to translate.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// Where it is.
    pub path: PathBuf,
    /// The path relative to the searched folder; for a file given by name, its name.
    pub relative: PathBuf,
}

/// The sources at `paths`: all given files, whatever their extensions, and all sources below given folders,
/// sorted by name. Hidden folders and symbolic links below a folder are left out.
///
/// # Errors
/// [`Error::Io`] if a path does not exist or cannot be read, [`Error::NoSources`] if a folder has none.
pub fn sources(paths: &[PathBuf]) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for path in paths {
        let metadata = fs::metadata(path).map_err(|e| Error::io("read", path, e))?;
        if metadata.is_dir() {
            let before = sources.len();
            walk(path, Path::new(""), &mut sources)?;
            if sources.len() == before {
                return Err(Error::NoSources(path.clone()));
            }
        } else {
            let relative = path.file_name().map_or_else(|| path.clone(), PathBuf::from);
            sources.push(Source { path: path.clone(), relative });
        }
    }
    Ok(sources)
}

fn walk(folder: &Path, relative: &Path, sources: &mut Vec<Source>) -> Result<(), Error> {
    let error = |e| Error::io("read", folder, e);
    let mut entries = fs::read_dir(folder).map_err(error)?.collect::<Result<Vec<_>, _>>().map_err(error)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let relative = relative.join(entry.file_name());
        let kind = entry.file_type().map_err(|e| Error::io("read", &path, e))?;
        if kind.is_dir() {
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                walk(&path, &relative, sources)?;
            }
        } else if kind.is_file() && is_source(&path) {
            sources.push(Source { path, relative });
        }
    }
    Ok(())
}

fn is_source(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str()))
}

/// Reads a file.
///
/// # Errors
/// [`Error::Io`] names the file.
pub fn read(path: &Path) -> Result<Vec<u8>, Error> {
    fs::read(path).map_err(|e| Error::io("read", path, e))
}

/// Writes a file atomically: readers see either the old text or the new one. An existing file keeps its
/// permissions; a symbolic link is followed.
///
/// # Errors
/// [`Error::Io`] names the file.
pub fn write(path: &Path, text: &[u8]) -> Result<(), Error> {
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let error = |e| Error::io("write", path, e);
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| Error::io("make", folder, e))?;
    let permissions = fs::metadata(path).ok().map(|metadata| metadata.permissions());
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The default permissions of a new file, before the umask; tempfile would restrict it to the owner.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.prefix(".hipify-").tempfile_in(folder).map_err(error)?;
    file.write_all(text).map_err(error)?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions).map_err(error)?;
    }
    file.persist(path).map_err(|e| error(e.error))?;
    Ok(())
}

/// Replaces a source by its translation and keeps the original beside it, with `.prehip` added to its name.
/// An existing original is not overwritten.
///
/// # Errors
/// [`Error::Io`] names the file; the source is unchanged then.
pub fn replace(path: &Path, source: &[u8], text: &[u8]) -> Result<(), Error> {
    let original = original(path);
    if !original.exists() {
        write(&original, source)?;
    }
    write(path, text)
}

/// Where the original of a source is kept.
#[must_use]
pub fn original(path: &Path) -> PathBuf {
    let mut name = path.file_name().map_or_else(OsString::new, OsString::from);
    name.push(".");
    name.push(ORIGINAL);
    path.with_file_name(name)
}
